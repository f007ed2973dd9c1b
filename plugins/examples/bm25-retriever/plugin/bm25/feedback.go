package bm25

import (
	"cmp"
	"math"
	"slices"
)

// expand makes the query of the second search. Its weights add up to the number of terms of
// the first query, so that the scores of both searches are comparable.
func (x *Index) expand(query []weighted, hits []Hit) []weighted {
	length := 0.0
	for _, q := range query {
		length += q.weight
	}
	f := x.opts.Feedback
	added := x.candidates(hits[:min(len(hits), f.Docs)])
	slices.SortFunc(added, func(a, b weighted) int {
		return cmp.Or(cmp.Compare(b.weight, a.weight), cmp.Compare(a.term, b.term))
	})
	added = added[:min(len(added), f.Terms)]
	sum := 0.0
	for _, a := range added {
		sum += a.weight
	}
	if !(sum > 0) {
		return query
	}
	expanded := make([]weighted, 0, len(query)+len(added))
	for _, q := range query {
		expanded = append(expanded, weighted{q.term, q.weight * (1 - f.Weight)})
	}
	for _, a := range added {
		expanded = append(expanded, weighted{a.term, a.weight / sum * length * f.Weight})
	}
	return expanded
}

// candidates returns the distinct terms of the documents found, each with its weight in the
// model. In the relevance model the weight of a document is its likelihood, whose logarithm
// is the score: a document with a much higher score than the others decides alone, and
// documents with similar scores decide together.
func (x *Index) candidates(hits []Hit) []weighted {
	place := make(map[uint32]int)
	var found []weighted
	for _, h := range hits {
		from, to := x.docStart[h.Doc], x.docStart[h.Doc+1]
		part := 1.0
		if x.opts.Feedback.Model == RM3 {
			part = math.Exp(h.Score-hits[0].Score) / float64(x.docLen[h.Doc])
		}
		for i := from; i < to; i++ {
			term := x.docTerms[i]
			at, known := place[term]
			if !known {
				at = len(found)
				place[term] = at
				found = append(found, weighted{term: term})
			}
			found[at].weight += part * float64(x.docTF[i])
		}
	}
	if x.opts.Feedback.Model == Bo1 {
		for i := range found {
			found[i].weight = x.bo1(found[i].term, found[i].weight)
		}
	}
	return found
}

// bo1 returns the information of finding a term tf times in the best documents, given its
// frequency in the collection.
func (x *Index) bo1(term uint32, tf float64) float64 {
	n := 0.0
	for i := x.start[term]; i < x.start[term+1]; i++ {
		n += float64(x.tfs[i])
	}
	mean := n / float64(len(x.norm))
	return tf*math.Log2((1+mean)/mean) + math.Log2(1+mean)
}
