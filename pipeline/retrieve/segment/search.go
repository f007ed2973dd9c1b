package segment

import (
	"slices"

	"github.com/anchor-host/anchor-host/pipeline/retrieve"
	"github.com/anchor-host/anchor-host/pipeline/retrieve/analysis"
)

// Scored is a hit of a search with the scores of its parts.
type Scored struct {
	Place
	Score, Words, Cosine float64
}

// Search answers a complete query, whose vector has the dimension of the view's vectors.
func (v *View) Search(q *retrieve.Query, a *analysis.Analyzer) ([]Scored, error) {
	depth := q.K
	if q.By == retrieve.ByHybrid {
		depth = q.Depth
	}
	var words, vectors []Hit
	var err error
	if q.By != retrieve.ByVectors {
		if words, err = v.Words(a.Terms(q.Text), BM25{*q.K1, *q.B}, depth, NewFilter(q.Filter)); err != nil {
			return nil, err
		}
	}
	if q.By != retrieve.ByWords {
		if vectors, err = v.Vectors(q.Vector, depth, NewFilter(q.Filter)); err != nil {
			return nil, err
		}
	}
	if q.By != retrieve.ByHybrid {
		out := make([]Scored, 0, len(words)+len(vectors))
		for _, h := range append(words, vectors...) {
			out = append(out, Scored{Place: h.Place, Score: h.Score})
		}
		return out, nil
	}
	return v.fuse(q, words, vectors)
}

func (v *View) fuse(q *retrieve.Query, words, vectors []Hit) ([]Scored, error) {
	lists := [2][]Hit{words, vectors}
	ranked := make([][]retrieve.Ranked[Place], len(lists))
	scores := make(map[Place][2]float64, len(words)+len(vectors))
	for i, list := range lists {
		for _, h := range list {
			ranked[i] = append(ranked[i], retrieve.Ranked[Place]{ID: h.Place, Score: h.Score})
			s := scores[h.Place]
			s[i] = h.Score
			scores[h.Place] = s
		}
	}
	fused, err := retrieve.Fuse(ranked, retrieve.FuseOptions{Fusion: q.Fusion, Weights: []float64{1 - *q.VectorWeight, *q.VectorWeight}})
	if err != nil {
		return nil, err
	}
	out := make([]Scored, len(fused))
	for i, f := range fused {
		s := scores[f.ID]
		out[i] = Scored{Place: f.ID, Score: f.Score, Words: s[0], Cosine: s[1]}
	}
	slices.SortFunc(out, func(a, b Scored) int { return v.Compare(Hit{a.Place, a.Score}, Hit{b.Place, b.Score}) })
	return out[:min(len(out), q.K)], nil
}
