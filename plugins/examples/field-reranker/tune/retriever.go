package main

import (
	"cmp"
	"fmt"
	"io"

	"github.com/anchor-host/anchor-host/plugins/examples/bm25-retriever/plugin/bm25"
)

// tuneBM25 finds the stop words, k1 and b of the first search.
func tuneBM25(w io.Writer, c *collection) (stop string, k1, b float64) {
	fmt.Fprintln(w, "BM25\nstop_words  k1   b     all     one")
	best := 0.0
	for _, words := range []string{"lucene", "english"} {
		for _, p := range [][2]float64{{0.9, 0.4}, {1.2, 0.75}, {1.5, 0.6}, {1.5, 0.75}, {1.5, 0.9}, {2, 0.6}, {2, 0.75}, {2, 0.9}, {2.5, 0.75}, {3, 0.75}} {
			x := c.index(retrieverOptions(words, p[0], p[1]))
			one := measure(x, c.one).mean()
			fmt.Fprintf(w, "%-10s  %.1f  %.2f  %.4f  %.4f\n", words, p[0], p[1], measure(x, c.all).mean(), one)
			if one > best {
				best, stop, k1, b = one, words, p[0], p[1]
			}
		}
	}
	return stop, k1, b
}

// tuneFeedback finds the feedback for a search: of those near the best the one
// with the least weight, and of these again the best.
func tuneFeedback(w io.Writer, c *collection, o bm25.Options) bm25.Feedback {
	fmt.Fprintf(w, "\nFeedback at k1 %g, b %g\nmodel  docs  terms  weight  all     one\n", o.K1, o.B)
	type trial struct {
		f   bm25.Feedback
		one figures
	}
	var trials []trial
	best := 0
	for _, model := range []bm25.Model{bm25.RM3, bm25.Bo1} {
		for _, docs := range []int{3, 5, 10} {
			for _, terms := range []int{10, 20, 40} {
				for _, weight := range []float64{0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7} {
					o.Feedback = bm25.Feedback{Model: model, Docs: docs, Terms: terms, Weight: weight}
					x := c.index(o)
					one := measure(x, c.one)
					fmt.Fprintf(w, "%-5s  %4d  %5d  %-6g  %.4f  %.4f\n", model, docs, terms, weight, measure(x, c.all).mean(), one.mean())
					trials = append(trials, trial{o.Feedback, one})
					if one.mean() > trials[best].one.mean() {
						best = len(trials) - 1
					}
				}
			}
		}
	}
	chosen := trials[best]
	for _, t := range trials {
		less := cmp.Or(cmp.Compare(t.f.Weight, chosen.f.Weight), cmp.Compare(chosen.one.mean(), t.one.mean())) < 0
		if less && t.one.near(trials[best].one) {
			chosen = t
		}
	}
	fmt.Fprintf(w, "best %+v, chosen %+v\n", trials[best].f, chosen.f)
	return chosen.f
}
