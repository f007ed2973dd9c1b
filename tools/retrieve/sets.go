package main

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/anchor-host/anchor-host/anchor/eval"
	"github.com/anchor-host/anchor-host/pipeline/retrieve"
	"github.com/anchor-host/anchor-host/pipeline/retrieve/builtin"
	"github.com/anchor-host/anchor-host/pipeline/retrieve/static"
)

// document is one text that is found as a whole.
type document struct {
	id, title, text string
	vector          []float32
}

// question is a query, with its judgements if the set has any.
type question struct {
	text   string
	vector []float32
	grades eval.Grades
}

// collection is what one process measures.
type collection struct {
	documents []document
	questions []question
	bytes     int // of titles and texts
	dim       int
}

// The sets. Those of chunks are made up: their sizes are those for which there are targets.
const (
	setScifact   = "scifact"
	setCranfield = "cranfield"
	setSmall     = "5,000 chunks"
	setLarge     = "100,000 chunks"
	setFiles     = "Go files"
)

// setsOf lists the sets that can be measured, and says which cannot.
func setsOf(f *flags, stderr io.Writer) []string {
	var sets []string
	for _, set := range []string{setScifact, setCranfield} {
		if _, err := os.Stat(filepath.Join(f.data, set)); f.data != "" && err == nil {
			sets = append(sets, set)
		} else {
			fmt.Fprintf(stderr, "retrieve: %s is left out: it is not in the folder of -data %q\n", set, f.data)
		}
	}
	sets = append(sets, setFiles, setSmall)
	if !f.short {
		sets = append(sets, setLarge)
	}
	return slices.DeleteFunc(sets, func(set string) bool { return !f.only.MatchString(set) })
}

// load reads or makes a set. Only engines that use vectors need them.
func load(ctx context.Context, j *job) (*collection, error) {
	switch j.Set {
	case setSmall:
		return madeUp(short(j, 5_000, 500), 200, j.Vectors), nil
	case setLarge:
		return madeUp(100_000, 40, j.Vectors), nil
	}
	c, err := judged(filepath.Join(j.Data, j.Set))
	if err != nil {
		return nil, err
	}
	if j.Short {
		c.documents, c.questions = c.documents[:min(500, len(c.documents))], c.questions[:min(20, len(c.questions))]
	}
	for _, d := range c.documents {
		c.bytes += len(d.title) + len(d.text)
	}
	if !j.Vectors {
		return c, nil
	}
	return c, c.embed(ctx, j.Table)
}

func short(j *job, long, short int) int {
	if j.Short {
		return short
	}
	return long
}

// judged reads a set in BEIR's form.
func judged(dir string) (*collection, error) {
	var files [3]*os.File
	for i, name := range []string{"corpus.jsonl", "queries.jsonl", "qrels.tsv"} {
		f, err := os.Open(filepath.Join(dir, name))
		if err != nil {
			return nil, err
		}
		defer f.Close()
		files[i] = f
	}
	c := &collection{}
	corpus, err := eval.ReadCorpus(files[0].Name(), files[0], func(d eval.Document) error {
		c.documents = append(c.documents, document{id: d.ID, title: d.Title, text: d.Text})
		return nil
	})
	if err != nil {
		return nil, err
	}
	queries, err := eval.ReadQueries(files[1].Name(), files[1])
	if err != nil {
		return nil, err
	}
	qrels, err := eval.ReadQrels(files[2].Name(), files[2])
	if err != nil {
		return nil, err
	}
	set, err := eval.Select(corpus, queries, qrels, eval.SelectOptions{AllowMissing: true})
	if err != nil {
		return nil, err
	}
	for _, q := range set.Queries {
		c.questions = append(c.questions, question{text: q.Text, grades: q.Grades})
	}
	return c, nil
}

// embed gives all documents and questions their vectors, the same for every engine.
func (c *collection) embed(ctx context.Context, folder string) error {
	e, err := openTable(folder)
	if err != nil {
		return err
	}
	texts := make([]string, len(c.documents))
	for i, d := range c.documents {
		texts[i] = d.title + "\n" + d.text
	}
	vectors, err := e.Embed(ctx, retrieve.SideDocument, texts)
	if err != nil {
		return err
	}
	for i, v := range vectors {
		c.documents[i].vector, c.dim = v, len(v)
	}
	for i := range c.questions {
		v, err := e.Embed(ctx, retrieve.SideQuery, []string{c.questions[i].text})
		if err != nil {
			return err
		}
		c.questions[i].vector = v[0]
	}
	return nil
}

// openTable opens a table, or that of the program.
func openTable(folder string) (retrieve.Embedder, error) {
	if folder == "" {
		return builtin.Embedder(), nil
	}
	return static.Open(static.Options{Table: filepath.Join(folder, "table.safetensors"), Tokenizer: filepath.Join(folder, "tokenizer.json")})
}

// madeUp makes texts of 150 words, which are as unevenly frequent as those of a language, and vectors of 256 dimensions.
func madeUp(n, questions int, vectors bool) *collection {
	r := rand.New(rand.NewPCG(1, 2))
	zipf := rand.NewZipf(r, 1.1, 5, 100_000)
	text := func(words int) string {
		var b strings.Builder
		for range words {
			fmt.Fprintf(&b, "w%x ", zipf.Uint64())
		}
		return b.String()
	}
	vector := func() []float32 {
		if !vectors {
			return nil
		}
		v := make([]float32, 256)
		for i := range v {
			v[i] = float32(r.NormFloat64())
		}
		return v
	}
	c := &collection{dim: 256}
	for i := range n {
		d := document{id: fmt.Sprintf("doc%07d", i), text: text(150), vector: vector()}
		c.documents, c.bytes = append(c.documents, d), c.bytes+len(d.text)
	}
	for range questions {
		c.questions = append(c.questions, question{text: text(8), vector: vector()})
	}
	return c
}
