package retrieve

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// DefaultRRFK is the k of reciprocal rank fusion.
const DefaultRRFK = 60

// Fusion is a way to merge ranked lists.
type Fusion string

// The ways to merge lists.
const (
	// FusionWeighted scales the scores of each list so that its best item has 1 and its
	// worst has 0. If all scores of a list are equal, they become 1. The score of an item
	// is the weighted mean over the lists; a list without the item counts as 0. A hybrid search
	// of an index knows both scores of every chunk and uses them, whichever list it is from.
	FusionWeighted Fusion = "weighted"
	// FusionRRF is reciprocal rank fusion: the score of an item is the sum of weight / (K +
	// rank) over the lists, where rank is its first place in the list, from 1.
	FusionRRF Fusion = "rrf"
)

// Ranked is an item of a ranked list: what it is, and its score.
type Ranked[ID comparable] struct {
	ID    ID
	Score float64
}

// FuseOptions are the settings of [Fuse].
type FuseOptions struct {
	// Fusion is FusionWeighted when empty.
	Fusion Fusion
	// K is for FusionRRF; it reduces the advantage of the first ranks. 0 means
	// [DefaultRRFK].
	K int
	// Weights are the weights of the lists, 0 or more, with a finite sum. nil means 1 each.
	Weights []float64
}

// Validate returns an error that wraps [ErrInvalid] if the options do not fit so many lists.
func (o *FuseOptions) Validate(lists int) error {
	switch {
	case o.Fusion != "" && o.Fusion != FusionRRF && o.Fusion != FusionWeighted:
		return fmt.Errorf("fuse: fusion %q: %w (want weighted or rrf)", o.Fusion, ErrInvalid)
	case o.K < 0:
		return fmt.Errorf("fuse: k %d: %w (want 1 or more)", o.K, ErrInvalid)
	case o.Weights != nil && len(o.Weights) != lists:
		return fmt.Errorf("fuse: %d weights for %d lists: %w", len(o.Weights), lists, ErrInvalid)
	}
	total := 0.0
	for i, w := range o.Weights {
		total += w
		if !(w >= 0) || math.IsInf(w, 0) {
			return fmt.Errorf("fuse: weights[%d]: %v: %w (want 0 or more)", i, w, ErrInvalid)
		}
	}
	if math.IsInf(total, 0) {
		return fmt.Errorf("fuse: weights: the sum is too large: %w (want smaller weights)", ErrInvalid)
	}
	return nil
}

// Fuse merges ranked lists, each with the best item first. The result has every item once,
// the best first. Items of equal score keep the order in which they first appear in the lists.
func Fuse[ID comparable](lists [][]Ranked[ID], o FuseOptions) ([]Ranked[ID], error) {
	if err := o.Validate(len(lists)); err != nil {
		return nil, err
	}
	most := 0
	for _, list := range lists {
		most += len(list)
	}
	fused := slices.Grow([]Ranked[ID](nil), most)
	type seen struct{ at, list int } // its place in fused, and the last list that has it, from 1
	known := make(map[ID]seen, most)
	total := 0.0
	for i, list := range lists {
		weight := 1.0
		if o.Weights != nil {
			weight = o.Weights[i]
		}
		total += weight
		gain := gains(list, weight, o)
		for rank, r := range list {
			k, ok := known[r.ID]
			if !ok {
				k.at = len(fused)
				fused = append(fused, Ranked[ID]{ID: r.ID})
			}
			if k.list != i+1 { // its first place in the list counts
				known[r.ID] = seen{k.at, i + 1}
				fused[k.at].Score += gain(rank)
			}
		}
	}
	slices.SortStableFunc(fused, func(a, b Ranked[ID]) int { return cmp.Compare(b.Score, a.Score) })
	if o.Fusion == FusionRRF {
		return fused, nil
	}
	for i := range fused {
		if total > 0 {
			fused[i].Score = min(1, fused[i].Score/total)
		}
	}
	return fused, nil
}

// gains returns a function: how much the place at a rank of the list adds to the score of
// its item.
func gains[ID comparable](list []Ranked[ID], weight float64, o FuseOptions) func(rank int) float64 {
	if o.Fusion == FusionRRF {
		k := cmp.Or(o.K, DefaultRRFK)
		return func(rank int) float64 { return weight / float64(k+rank+1) }
	}
	lowest, highest := math.Inf(1), math.Inf(-1)
	for i := range list {
		lowest, highest = min(lowest, list[i].Score), max(highest, list[i].Score)
	}
	return func(rank int) float64 {
		if highest > lowest {
			return weight * (list[rank].Score - lowest) / (highest - lowest)
		}
		return weight
	}
}
