package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"testing/fstest"

	"github.com/anchor-host/anchor-host/plugins/examples/bm25-retriever/plugin/bm25"
	"github.com/anchor-host/anchor-host/plugins/examples/field-reranker/plugin"
	"github.com/anchor-host/anchor-host/plugins/examples/internal/testkit/beir"
)

// candidates is the number of documents to rerank.
const candidates = 100

// rated are the ratings of the candidates for one question.
type rated struct {
	docs   []int
	scores []float64
	parts  []plugin.Parts
}

// rows are candidates in the form that the plugin reads.
type rows struct {
	docs []beir.Record
	hits []bm25.Hit
}

func (r rows) Len() int { return len(r.hits) }

func (r rows) Text(i int) string {
	d := r.docs[r.hits[i].Doc]
	return d.Title + "\n\n" + d.Text
}

func (r rows) MetaString(i int, key string) (string, bool) {
	return r.docs[r.hits[i].Doc].Title, key == "title"
}

// tuneParts finds the weights of the parts of the rating after a search. It ignores the
// scores of the search.
func tuneParts(w io.Writer, c *collection, o bm25.Options, statistics string) (*plugin.Settings, error) {
	s := new(plugin.Settings)
	s.Defaults()
	s.Statistics, s.Weight = statistics, 1
	x := c.index(o)
	r, err := open(c, s)
	if err != nil {
		return nil, err
	}
	all, one := rate(c, x, r, c.all), rate(c, x, r, c.one)
	fmt.Fprintf(w, "\nReranker with statistics of %s, weight 1\ntitle  proximity  grams  all     one\n", statistics)
	show := func() {
		fmt.Fprintf(w, "%-5g  %-9g  %-5g  %.4f  %.4f\n", s.Title, s.Proximity, s.Grams, quality(c.all, all, s).mean(), quality(c.one, one, s).mean())
	}
	found, best := *s, 0.0
	for _, s.Title = range []float64{0, 0.25, 0.5, 0.75, 1, 1.5, 2} {
		for _, s.Proximity = range []float64{0, 0.5, 1, 1.5, 2, 3} {
			for _, s.Grams = range []float64{0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.75} {
				if got := quality(c.one, one, s).mean(); got > best {
					best, found = got, *s
				}
			}
		}
	}
	s.Title, s.Proximity, s.Grams = 0, 0, 0
	show()
	for _, part := range []*float64{&s.Title, &s.Proximity, &s.Grams} {
		*s = found
		*part = 0
		show()
	}
	*s = found
	show()
	return s, nil
}

// tuneWeight measures how much the score of the search helps.
func tuneWeight(w io.Writer, c *collection, o bm25.Options, found *plugin.Settings) error {
	s := *found
	x := c.index(o)
	r, err := open(c, &s)
	if err != nil {
		return err
	}
	all, one := rate(c, x, r, c.all), rate(c, x, r, c.one)
	fmt.Fprintf(w, "\nReranker with statistics of %s, title %g, proximity %g, grams %g, after feedback %+v\nweight  all     one\n",
		s.Statistics, s.Title, s.Proximity, s.Grams, o.Feedback)
	var tried []figures
	weights := []float64{0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1}
	best := 0
	for i, weight := range weights {
		s.Weight = weight
		f := quality(c.one, one, &s)
		fmt.Fprintf(w, "%-6g  %.4f  %.4f\n", weight, quality(c.all, all, &s).mean(), f.mean())
		if tried = append(tried, f); f.mean() > tried[best].mean() {
			best = i
		}
	}
	fmt.Fprintf(w, "best is %g; 1 is within one standard error of it: %v\n", weights[best], tried[len(tried)-1].near(tried[best]))
	return nil
}

// open makes a reranker, with the statistics of the collection if the settings ask for them.
func open(c *collection, s *plugin.Settings) (*plugin.Reranker, error) {
	if s.Statistics == plugin.FromItems {
		return plugin.New(s)
	}
	var file bytes.Buffer
	for _, d := range c.docs {
		if err := json.NewEncoder(&file).Encode(d); err != nil {
			return nil, err
		}
	}
	return plugin.Open(fstest.MapFS{"corpus.jsonl": {Data: file.Bytes()}}, s)
}

// rate rates every candidate once and returns the parts of the ratings.
func rate(c *collection, x *bm25.Index, r *plugin.Reranker, questions []question) []rated {
	found := make([]rated, len(questions))
	for i, q := range questions {
		hits := search(x, q, candidates)
		found[i].parts = slices.Clone(r.Rate(q.text, rows{c.docs, hits}))
		for _, hit := range hits {
			found[i].docs = append(found[i].docs, hit.Doc)
			found[i].scores = append(found[i].scores, hit.Score/hits[0].Score)
		}
	}
	return found
}

// quality returns the quality of the rankings with the given settings.
func quality(questions []question, found []rated, s *plugin.Settings) figures {
	var scores []float64
	return newFigures(questions, func(i int) []int {
		scores = append(scores[:0], found[i].scores...)
		s.Blend(scores, found[i].parts)
		return top(found[i].docs, scores)
	})
}

// top returns the documents with the highest scores. Equals keep their order.
func top(docs []int, scores []float64) []int {
	var ranking [cutoff]int
	var best [cutoff]float64
	n := 0
	for i, score := range scores {
		if n == cutoff && score <= best[n-1] {
			continue
		}
		at := min(n, cutoff-1)
		for at > 0 && best[at-1] < score {
			best[at], ranking[at] = best[at-1], ranking[at-1]
			at--
		}
		best[at], ranking[at] = score, docs[i]
		n = min(n+1, cutoff)
	}
	return slices.Clone(ranking[:n])
}
