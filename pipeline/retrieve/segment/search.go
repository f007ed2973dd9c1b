package segment

import (
	"context"
	"math"

	"github.com/anchor-host/anchor-host/pipeline/retrieve"
	"github.com/anchor-host/anchor-host/pipeline/retrieve/analysis"
)

// Scored is a hit of a search with the scores of its parts.
type Scored struct {
	Place
	Score, Words, Cosine float64
	// Copies are other chunks that show the same, at most maxCopies.
	Copies []Place
}

// Search answers a complete query, whose vector has the dimension of the view's vectors. The error
// is that of ctx if it ends meanwhile.
func (v *View) Search(ctx context.Context, q *retrieve.Query, a *analysis.Analyzer) ([]Scored, error) {
	var hits []Hit
	var err error
	seen := copies{}
	switch q.By {
	case retrieve.ByWords:
		sums := v.borrow(0)
		defer scorePool.Put(sums)
		if err = v.addWords(*sums, a.Question(q.Text), BM25{*q.K1, *q.B}); err == nil {
			hits, err = v.distinct(*sums, 0, q.K, q, seen)
		}
	case retrieve.ByVectors:
		cosines := v.borrow(math.Inf(-1))
		defer scorePool.Put(cosines)
		if err = v.setCosines(*cosines, q.Vector); err == nil {
			hits, err = v.distinct(*cosines, math.Inf(-1), q.K, q, seen)
		}
	default:
		return v.hybrid(ctx, q, a.Question(q.Text))
	}
	if err != nil {
		return nil, err
	}
	out := make([]Scored, len(hits))
	for i, h := range hits {
		out[i] = Scored{Place: h.Place, Score: h.Score, Copies: seen.of(v, h.Place)}
	}
	return out, nil
}

// hybrid merges the best chunks by words with the best by vectors.
func (v *View) hybrid(ctx context.Context, q *retrieve.Query, terms []string) ([]Scored, error) {
	sums, cosines := v.borrow(0), v.borrow(math.Inf(-1))
	defer scorePool.Put(sums)
	defer scorePool.Put(cosines)
	if err := v.addWords(*sums, terms, BM25{*q.K1, *q.B}); err != nil {
		return nil, err
	}
	seen := copies{}
	words, err := v.distinct(*sums, 0, q.Depth, q, seen)
	if err != nil {
		return nil, err
	}
	if err := v.setCosines(*cosines, q.Vector); err != nil {
		return nil, err
	}
	vectors, err := v.distinct(*cosines, math.Inf(-1), q.Depth, q, seen)
	if err != nil {
		return nil, err
	}
	scores := func(at Place) (sum, cosine float64) {
		i := v.base[at.Part] + int(at.Chunk)
		return (*sums)[i], (*cosines)[i]
	}
	return v.fuse(ctx, q, words, vectors, scores, seen)
}

// fuse merges two lists. scores has both scores of every chunk: 0 and -Inf stand for none.
func (v *View) fuse(ctx context.Context, q *retrieve.Query, words, vectors []Hit, scores func(Place) (sum, cosine float64), seen copies) ([]Scored, error) {
	lists := [][]retrieve.Ranked[Place]{ranked(words), ranked(vectors)}
	if q.Fusion == retrieve.FusionWeighted {
		complete(lists, scores)
	}
	fused, err := retrieve.Fuse(lists, retrieve.FuseOptions{Fusion: q.Fusion, Weights: []float64{1 - *q.VectorWeight, *q.VectorWeight}})
	if err != nil {
		return nil, err
	}
	hits := make([]Hit, len(fused))
	for i, f := range fused {
		hits[i] = Hit{Place: f.ID, Score: f.Score}
	}
	v.sort(hits)
	if !q.KeepCopies {
		hits = seen.remove(v, hits)
	}
	if *q.Neighbours > 0 {
		most := 1.0 // the best by words and by vectors
		if q.Fusion == retrieve.FusionRRF && len(hits) > 0 {
			most = max(hits[0].Score, math.SmallestNonzeroFloat64)
		}
		if err := v.blend(ctx, hits[:min(len(hits), q.Depth, retrieve.MaxBlended)], *q.Neighbours, most); err != nil {
			return nil, err
		}
		v.sort(hits)
	}
	hits = hits[:min(len(hits), q.K)]
	out := make([]Scored, len(hits))
	for i, h := range hits {
		out[i] = Scored{Place: h.Place, Score: h.Score, Copies: seen.of(v, h.Place)}
		if sum, cosine := scores(h.Place); !math.IsInf(cosine, -1) {
			out[i].Words, out[i].Cosine = sum, cosine
		} else {
			out[i].Words = sum
		}
	}
	return out, nil
}

func ranked(hits []Hit) []retrieve.Ranked[Place] {
	out := make([]retrieve.Ranked[Place], len(hits))
	for i, h := range hits {
		out[i] = retrieve.Ranked[Place]{ID: h.Place, Score: h.Score}
	}
	return out
}

// complete adds to each of the two lists the items of the other one with their true score, so
// that an item just below the end of a list does not count as if it had no score. A list that
// is empty stays empty.
func complete(lists [][]retrieve.Ranked[Place], scores func(Place) (sum, cosine float64)) {
	var in [2]map[Place]bool
	for i, list := range lists {
		in[i] = make(map[Place]bool, len(list))
		for _, r := range list {
			in[i][r.ID] = true
		}
	}
	words, vectors := lists[0], lists[1]
	for _, r := range vectors {
		if sum, _ := scores(r.ID); len(words) > 0 && !in[0][r.ID] {
			lists[0] = append(lists[0], retrieve.Ranked[Place]{ID: r.ID, Score: sum})
		}
	}
	for _, r := range words {
		if _, cosine := scores(r.ID); !in[1][r.ID] && !math.IsInf(cosine, -1) {
			lists[1] = append(lists[1], retrieve.Ranked[Place]{ID: r.ID, Score: cosine})
		}
	}
}
