package main

import (
	"fmt"
	"io"

	"github.com/anchor-host/anchor-host/plugins/examples/bm25-retriever/plugin/bm25"
)

// tuneBM25 finds the stop words, k1 and b of a search.
func tuneBM25(w io.Writer, c *collection) (found bm25.Options) {
	fmt.Fprintln(w, "BM25\nstop_words  k1   b     all     one")
	best := 0.0
	for _, stop := range []string{"lucene", "english"} {
		for _, k1 := range []float64{0.9, 1.2, 1.5, 2, 2.5} {
			for _, b := range []float64{0.4, 0.6, 0.75, 0.9} {
				o := retrieverOptions(stop, k1, b)
				x := c.index(o)
				one := measure(x, c.one).mean()
				fmt.Fprintf(w, "%-10s  %.1f  %.2f  %.4f  %.4f\n", stop, k1, b, measure(x, c.all).mean(), one)
				if one > best {
					best, found = one, o
				}
			}
		}
	}
	return found
}

// tuneFeedback finds the feedback for a search.
func tuneFeedback(w io.Writer, c *collection, o bm25.Options) (found bm25.Feedback) {
	fmt.Fprintf(w, "\nFeedback at k1 %g, b %g\nmodel  docs  terms  weight  all     one\n", o.K1, o.B)
	best := 0.0
	for _, model := range []bm25.Model{bm25.RM3, bm25.Bo1} {
		for _, docs := range []int{3, 5, 10} {
			for _, terms := range []int{10, 20, 40} {
				for _, weight := range []float64{0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7} {
					o.Feedback = bm25.Feedback{Model: model, Docs: docs, Terms: terms, Weight: weight}
					x := c.index(o)
					one := measure(x, c.one).mean()
					fmt.Fprintf(w, "%-5s  %4d  %5d  %-6g  %.4f  %.4f\n", model, docs, terms, weight, measure(x, c.all).mean(), one)
					if one > best {
						best, found = one, o.Feedback
					}
				}
			}
		}
	}
	return found
}
