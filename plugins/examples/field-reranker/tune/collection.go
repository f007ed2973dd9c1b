package main

import (
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"github.com/anchor-host/anchor-host/pipeline/retrieve/analysis"
	"github.com/anchor-host/anchor-host/plugins/examples/bm25-retriever/plugin/bm25"
	"github.com/anchor-host/anchor-host/plugins/examples/internal/testkit/beir"
)

// collection is a set of documents with questions of both kinds.
type collection struct {
	docs     []beir.Record
	all, one []question
}

// question is a query with the grades of its relevant documents, and the documents that are
// removed from the collection for it.
type question struct {
	text   string
	grades map[int]float64
	gone   map[int]bool
	query  int
	weight float64 // in the figure of the query
	ideal  float64
}

// load reads a collection. In Cranfield the text of a document begins with the title; load
// removes it, as other collections do.
func load(dir string) (*collection, error) {
	docs, err := beir.Records(filepath.Join(dir, "corpus.jsonl"))
	if err != nil {
		return nil, err
	}
	queries, err := beir.Records(filepath.Join(dir, "queries.jsonl"))
	if err != nil {
		return nil, err
	}
	judged, err := beir.Judgements(filepath.Join(dir, "qrels.tsv"))
	if err != nil {
		return nil, err
	}
	number := make(map[string]int, len(docs))
	for i := range docs {
		docs[i].Text = strings.TrimSpace(strings.TrimPrefix(docs[i].Text, docs[i].Title))
		number[docs[i].ID] = i
	}
	c := &collection{docs: docs}
	for i, q := range queries {
		grades := make(map[int]float64)
		for id, grade := range judged[q.ID] {
			if doc, ok := number[id]; ok && grade > 0 {
				grades[doc] = grade
			}
		}
		c.ask(i, q.Text, grades)
	}
	return c, nil
}

// ask adds the questions of both kinds for a query.
func (c *collection) ask(query int, text string, grades map[int]float64) {
	c.all = append(c.all, newQuestion(query, text, grades, nil, 1))
	for _, doc := range slices.Sorted(maps.Keys(grades)) {
		gone := make(map[int]bool, len(grades))
		for other := range grades {
			gone[other] = other != doc
		}
		c.one = append(c.one, newQuestion(query, text, map[int]float64{doc: 1}, gone, 1/float64(len(grades))))
	}
}

func newQuestion(query int, text string, grades map[int]float64, gone map[int]bool, weight float64) question {
	best := slices.Sorted(maps.Values(grades))
	slices.Reverse(best)
	return question{text, grades, gone, query, weight, beir.DCG(best, cutoff)}
}

// cutoff is the number of ranks that count.
const cutoff = 10

// figures are the nDCG values of rankings, one for each query. Rankings may be longer than
// cutoff.
type figures []float64

func newFigures(questions []question, rank func(i int) []int) (f figures) {
	gains := make([]float64, 0, cutoff)
	for i, q := range questions {
		for len(f) <= q.query {
			f = append(f, 0)
		}
		if q.ideal == 0 {
			continue
		}
		ranking := rank(i)
		gains = gains[:0]
		for _, doc := range ranking[:min(len(ranking), cutoff)] {
			gains = append(gains, q.grades[doc])
		}
		f[q.query] += q.weight * beir.DCG(gains, cutoff) / q.ideal
	}
	return f
}

func (f figures) mean() (sum float64) {
	for _, x := range f {
		sum += x
	}
	return sum / float64(len(f))
}

// near reports whether f is at most one standard error below best.
func (f figures) near(best figures) bool {
	n := float64(len(f))
	mean, square := 0.0, 0.0
	for i := range f {
		d := best[i] - f[i]
		mean += d / n
		square += d * d / n
	}
	return mean <= math.Sqrt((square-mean*mean)/n)
}

// retrieverOptions are the options of bm25-retriever with these settings.
func retrieverOptions(stop string, k1, b float64) bm25.Options {
	words := map[string]func(string) bool{"lucene": analysis.LuceneStopWord, "english": analysis.EnglishStopWord}
	return bm25.Options{K1: k1, B: b, Analyzer: analysis.New(analysis.Options{Stop: words[stop], Stem: true})}
}

func (c *collection) index(o bm25.Options) *bm25.Index {
	b := bm25.NewBuilder(o)
	for _, d := range c.docs {
		b.Add(d.Title, d.Text)
	}
	return b.Build()
}

// search answers a question. It leaves out the documents that are removed for it.
func search(x *bm25.Index, q question, k int) []bm25.Hit {
	return x.SearchFunc(q.text, k, func(doc int) bool { return !q.gone[doc] })
}

// measure returns the quality of an index.
func measure(x *bm25.Index, questions []question) figures {
	return newFigures(questions, func(i int) (ranking []int) {
		for _, hit := range search(x, questions[i], cutoff) {
			ranking = append(ranking, hit.Doc)
		}
		return ranking
	})
}
