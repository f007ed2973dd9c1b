// Command tune finds the weights of field-reranker, and of feedback in
// bm25-retriever, on the Cranfield collection, and prints its tables:
//
//	ANCHOR_DATA_DIR=… go run ./plugins/examples/field-reranker/tune
//
// Two figures stand in them. "all" is nDCG@10 with all judgements. "one" is what
// the choice goes by: nDCG@10 when only one relevant document exists, averaged
// over the relevant documents of a query (the others leave the collection), then
// over queries. Cranfield has eight relevant documents per query, all about the
// same thing, so that "all" rewards whatever resembles the first hit; a context
// window more often needs the one document that answers.
//
// Weights are chosen by the rule of one standard error: of all that are no more
// than one standard error (over queries, paired) behind the best, the least. What
// the best adds beyond that is as likely a trait of this collection.
package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

func main() {
	if err := run(os.Stdout, os.Getenv("ANCHOR_DATA_DIR")); err != nil {
		fmt.Fprintln(os.Stderr, "tune:", err)
		os.Exit(1)
	}
}

func run(w io.Writer, root string) error {
	if root == "" {
		return errors.New("ANCHOR_DATA_DIR is not set (to the folder that has cranfield/corpus.jsonl)")
	}
	c, err := load(filepath.Join(root, "cranfield"))
	if err != nil {
		return err
	}
	stop, k1, b := tuneBM25(w, c)
	f := tuneFeedback(w, c, retrieverOptions(stop, k1, b))
	o := retrieverOptions(stop, k1, b)
	if err := tuneReranker(w, c, o, "without feedback"); err != nil {
		return err
	}
	o.Feedback = f
	return tuneReranker(w, c, o, "with feedback")
}
