package main

import (
	"bytes"
	"cmp"
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

// tuneReranker finds the weights of the reranker after a search.
func tuneReranker(w io.Writer, c *collection, o bm25.Options, name string) error {
	x := c.index(o)
	fmt.Fprintf(w, "\nReranker %s %+v\nsearch alone: all %.4f  one %.4f\n", name, o.Feedback, measure(x, c.all).mean(), measure(x, c.one).mean())
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
			fmt.Fprintf(w, "%-6s  %-8s weight %-4g title %-4g proximity %-4g grams %-4g  all %.4f  one %.4f\n", statistics, label,
				s.Weight, s.Title, s.Proximity, s.Grams, quality(c.all, all, &s).mean(), quality(c.one, one, &s).mean())
		}
		show("default")
		best, chosen := search4(s, func(s *plugin.Settings) figures { return quality(c.one, one, s) })
		s = best
		show("best")
		s = chosen
		show("chosen")
		for _, part := range []*float64{&s.Title, &s.Proximity, &s.Grams} {
			old := *part
			*part = 0
			show("without")
			*part = old
		}
	}
	return nil
}

// search4 tries a grid of the four weights, and returns the best setting and the
// one nearest to none that is near it: that with the least part of the score in
// what is added to the words, and of these the best.
func search4(s plugin.Settings, measure func(*plugin.Settings) figures) (best, chosen plugin.Settings) {
	type trial struct {
		s     plugin.Settings
		f     figures
		added float64
	}
	var trials []trial
	top := 0
	for _, s.Weight = range []float64{0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1} {
		for _, s.Title = range []float64{0, 0.25, 0.5, 0.75, 1, 1.5, 2} {
			for _, s.Proximity = range []float64{0, 0.5, 1, 1.5, 2} {
				for _, s.Grams = range []float64{0, 0.1, 0.2, 0.3, 0.4, 0.5} {
					trials = append(trials, trial{s, measure(&s), s.Weight * (s.Title + s.Proximity + s.Grams)})
					if last := len(trials) - 1; trials[last].f.mean() > trials[top].f.mean() {
						top = last
					}
				}
			}
		}
	}
	least := trials[top]
	for _, t := range trials {
		less := cmp.Or(cmp.Compare(t.added, least.added), cmp.Compare(least.f.mean(), t.f.mean())) < 0
		if less && t.f.near(trials[top].f) {
			least = t
		}
	}
	return trials[top].s, least.s
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
func quality(questions []question, found []rated, s *plugin.Settings) figures {
	var scores []float64
	return newFigures(questions, func(i int) []int {
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
