package pipeline

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
)

// DefaultFuseK is the k of reciprocal rank fusion.
const DefaultFuseK = 60

// FuseOptions are the settings of [Fuse].
type FuseOptions struct {
	// K reduces the advantage of the first ranks. 0 means DefaultFuseK.
	K int
	// Weights are the weights of the lists, 0 or more. nil means 1 each.
	Weights []float64
	// TopK is the largest length of the result. 0 means no limit.
	TopK int
	// Method is written to the metadata retrieval_method. Empty means "rrf".
	Method string
}

// Fuse merges ranked lists by reciprocal rank fusion: the score of an item is the sum of
// weight / (K + rank) over its places, where ranks begin at 1. Items with equal ids are the
// same item; Fuse keeps the copy whose own score is highest. It then scales the scores so
// that the best item of the result has 1 and the worst 0. If all have the same score, they
// all get 0, and a single item gets 1. The metadata rrf_raw_score holds the score before
// scaling. Items with equal scores keep the order in which they first appeared.
func Fuse(lists [][]Item, opts FuseOptions) ([]Item, error) {
	if opts.K == 0 {
		opts.K = DefaultFuseK
	}
	if opts.Method == "" {
		opts.Method = "rrf"
	}
	if err := opts.validate(len(lists)); err != nil {
		return nil, err
	}
	fused := opts.sum(lists)
	slices.SortStableFunc(fused, func(a, b fusedItem) int { return cmp.Compare(b.raw, a.raw) })
	if opts.TopK > 0 && len(fused) > opts.TopK {
		fused = fused[:opts.TopK]
	}
	return opts.scale(fused), nil
}

func (o *FuseOptions) validate(lists int) error {
	switch {
	case o.K < 0:
		return fmt.Errorf("fuse: k %d: %w (want 1 or more)", o.K, ErrInvalid)
	case o.TopK < 0:
		return fmt.Errorf("fuse: top_k %d: %w (want 0 or more)", o.TopK, ErrInvalid)
	case o.Weights != nil && len(o.Weights) != lists:
		return fmt.Errorf("fuse: %d weights for %d lists: %w", len(o.Weights), lists, ErrInvalid)
	}
	for i, w := range o.Weights {
		if !(w >= 0) || math.IsInf(w, 0) {
			return fmt.Errorf("fuse: weights[%d]: %v: %w (want 0 or more)", i, w, ErrInvalid)
		}
	}
	return nil
}

type fusedItem struct {
	item Item
	raw  float64
}

// sum returns the items with their summed scores, in the order of first appearance.
func (o *FuseOptions) sum(lists [][]Item) []fusedItem {
	var fused []fusedItem
	place := make(map[string]int)
	for i, list := range lists {
		weight := 1.0
		if o.Weights != nil {
			weight = o.Weights[i]
		}
		for rank, it := range list {
			at, ok := place[it.ID]
			if !ok {
				at = len(fused)
				place[it.ID] = at
				fused = append(fused, fusedItem{item: it})
			} else if it.Score > fused[at].item.Score {
				fused[at].item = it
			}
			fused[at].raw += weight / float64(o.K+rank+1)
		}
	}
	return fused
}

// scale returns copies with scores from 0 to 1; fused must be sorted.
func (o *FuseOptions) scale(fused []fusedItem) []Item {
	out := make([]Item, len(fused))
	for i, f := range fused {
		lowest, highest := fused[len(fused)-1].raw, fused[0].raw
		out[i] = f.item
		switch {
		case len(fused) == 1:
			out[i].Score = 1
		case highest > lowest:
			out[i].Score = (f.raw - lowest) / (highest - lowest)
		default:
			out[i].Score = 0
		}
		metadata := make(map[string]any, len(f.item.Metadata)+2)
		maps.Copy(metadata, f.item.Metadata)
		metadata["retrieval_method"] = o.Method
		metadata["rrf_raw_score"] = f.raw
		out[i].Metadata = metadata
	}
	return out
}

// RoundRobin merges lists by taking the first item of each, then the second of each, and so
// on. It takes each id once. topK 0 means no limit.
func RoundRobin(lists [][]Item, topK int) []Item {
	var out []Item
	seen := make(map[string]bool)
	for rank, more := 0, true; more; rank++ {
		more = false
		for _, list := range lists {
			if rank >= len(list) {
				continue
			}
			more = true
			if topK > 0 && len(out) == topK {
				return out
			}
			if it := list[rank]; !seen[it.ID] {
				seen[it.ID] = true
				out = append(out, it)
			}
		}
	}
	return out
}
