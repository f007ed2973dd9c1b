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
	"github.com/anchor-host/anchor-host/plugins/examples/internal/beir"
)

// candidates is how many documents are reranked.
const candidates = 100

// rated is what the reranker knows of the candidates for one question.
type rated struct {
	docs   []int
	scores []float64
	parts  []plugin.Parts
}

// rows are candidates as the plugin sees them.
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

// tuneReranker finds the weights of the reranker after a search, by changing
// one after the other as long as that helps.
func tuneReranker(w io.Writer, c *collection, o bm25.Options, name string) error {
	fmt.Fprintf(w, "\nReranker %s %+v\n", name, o.Feedback)
	x := c.index(o)
	fmt.Fprintf(w, "search alone                                   all %.4f  one %.4f\n", measure(x, c.all), measure(x, c.one))
	for _, statistics := range []string{plugin.FromFolder, plugin.FromItems} {
		var s plugin.Settings
		s.Defaults()
		s.Statistics = statistics
		r, err := open(c, &s)
		if err != nil {
			return err
		}
		all, one := rate(c, x, r, c.all), rate(c, x, r, c.one)
		show := func(label string) {
			fmt.Fprintf(w, "%-6s %-10s weight %-4g title %-4g proximity %-4g grams %-4g  all %.4f  one %.4f\n", statistics, label,
				s.Weight, s.Title, s.Proximity, s.Grams, quality(c.all, all, &s), quality(c.one, one, &s))
		}
		show("default")
		s.Weight, s.Title, s.Proximity, s.Grams = 1, 0, 0, 0
		show("words")
		ascend(&s, func() float64 { return quality(c.one, one, &s) })
		show("found")
		for _, part := range []*float64{&s.Title, &s.Proximity, &s.Grams} {
			old := *part
			*part = 0
			show("without")
			*part = old
		}
	}
	return nil
}

// ascend changes weights until none is better.
func ascend(s *plugin.Settings, measure func() float64) {
	steps := []float64{0, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.75, 1, 1.5, 2, 3, 4}
	best := measure()
	for before := 0.0; best > before+1e-4; {
		before = best
		for _, part := range []*float64{&s.Title, &s.Proximity, &s.Grams} {
			best = climb(part, steps, best, measure)
		}
		best = climb(&s.Weight, []float64{0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1}, best, measure)
	}
}

func climb(value *float64, steps []float64, best float64, measure func() float64) float64 {
	at := *value
	for _, step := range steps {
		*value = step
		if got := measure(); got > best {
			best, at = got, step
		}
	}
	*value = at
	return best
}

// open makes a reranker, with the statistics of the collection if it takes any.
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

// rate asks the reranker once for the parts of every candidate.
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

// quality is that of the rankings which the settings make.
func quality(questions []question, found []rated, s *plugin.Settings) float64 {
	var scores []float64
	return average(questions, func(i int) []int {
		scores = append(scores[:0], found[i].scores...)
		s.Blend(scores, found[i].parts)
		return top(found[i].docs, scores)
	})
}

// top are the documents of the highest scores, equals in their old order.
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
