package bm25

import (
	"container/heap"
	"math"
	"sort"
)

// Hit is one document of a result.
type Hit struct {
	// Doc is the number that Add returned.
	Doc int
	// Score is the BM25 score, more than 0 and without an upper bound.
	Score float64
}

// Len is the number of documents.
func (x *Index) Len() int { return len(x.norm) }

// Terms is the number of distinct terms.
func (x *Index) Terms() int { return len(x.start) - 1 }

// Search returns at most k documents that share a term with the query, best first. Among
// equals the document that was added earlier comes first. A term counts as often as it
// occurs in the query. With feedback, the second search may find documents that share no
// term with the query itself.
func (x *Index) Search(query string, k int) []Hit {
	if k <= 0 || len(x.norm) == 0 {
		return nil
	}
	var terms []weighted
	for _, term := range x.opts.Analyzer.Terms(query) {
		if id, ok := x.terms[term]; ok {
			terms = append(terms, weighted{id, 1})
		}
	}
	if !x.opts.Feedback.on() {
		return x.pass(terms, k)
	}
	hits := x.pass(terms, x.opts.Feedback.Docs)
	if len(hits) == 0 {
		return nil
	}
	return x.pass(x.expand(terms, hits), k)
}

// weighted is a term with its weight in a query.
type weighted struct {
	term   uint32
	weight float64
}

// pass scores the documents by one query.
func (x *Index) pass(query []weighted, k int) []Hit {
	scores := make([]float64, len(x.norm))
	for _, q := range query {
		x.accumulate(scores, q.term, q.weight)
	}
	return best(scores, k)
}

// accumulate adds what one term contributes to the documents that have it.
func (x *Index) accumulate(scores []float64, term uint32, weight float64) {
	from, to := x.start[term], x.start[term+1]
	n := float64(to - from)
	idf := weight * math.Log1p((float64(len(x.norm))-n+0.5)/(n+0.5))
	for i := from; i < to; i++ {
		doc, tf := x.docs[i], float64(x.tfs[i])
		scores[doc] += idf * tf / (tf + float64(x.norm[doc]))
	}
}

// best selects the k highest scores above zero.
func best(scores []float64, k int) []Hit {
	var h hits
	for doc, score := range scores {
		if score <= 0 || len(h) == k && score <= h[0].Score {
			continue
		}
		if len(h) == k {
			h[0] = Hit{doc, score}
			heap.Fix(&h, 0)
		} else {
			heap.Push(&h, Hit{doc, score})
		}
	}
	sort.Slice(h, func(i, j int) bool { return h.Less(j, i) })
	return h
}

// hits is a heap with the worst hit on top.
type hits []Hit

func (h hits) Len() int { return len(h) }
func (h hits) Less(i, j int) bool {
	if h[i].Score != h[j].Score {
		return h[i].Score < h[j].Score
	}
	return h[i].Doc > h[j].Doc
}
func (h hits) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *hits) Push(v any)   { *h = append(*h, v.(Hit)) }
func (h *hits) Pop() any {
	last := (*h)[len(*h)-1]
	*h = (*h)[:len(*h)-1]
	return last
}
