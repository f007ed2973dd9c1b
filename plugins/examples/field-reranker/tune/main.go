// Command tune finds the weights of field-reranker, and of feedback in
// bm25-retriever, on the Cranfield collection, and prints its tables:
//
//	ANCHOR_DATA_DIR=… go run ./plugins/examples/field-reranker/tune
//
// The tables have two figures. "all" is nDCG@10 with all judgements. "one" decides: it is
// nDCG@10 when only one relevant document exists (the others are removed), averaged over the
// relevant documents of a query, then over queries. Cranfield has eight relevant documents
// for each query, all about the same topic, so "all" rewards documents that resemble the
// first hit. A context window more often needs the one document that answers the question.
//
// The parts of the reranker's rating are weighted without feedback and without the score of
// the search, so that the weights do not depend on a retriever. The score of the search is
// added only if it improves the ranking by more than one standard error over the queries.
package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/anchor-host/anchor-host/plugins/examples/bm25-retriever/plugin/bm25"
	"github.com/anchor-host/anchor-host/plugins/examples/field-reranker/plugin"
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
	o := tuneBM25(w, c)
	feedback := tuneFeedback(w, c, o)
	for _, statistics := range []string{plugin.FromFolder, plugin.FromItems} {
		s, err := tuneParts(w, c, o, statistics)
		if err != nil {
			return err
		}
		for _, f := range []bm25.Feedback{{}, feedback} {
			o.Feedback = f
			if err := tuneWeight(w, c, o, s); err != nil {
				return err
			}
		}
		o.Feedback = bm25.Feedback{}
	}
	return nil
}
