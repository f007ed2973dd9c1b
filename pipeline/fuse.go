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
	// K damps the weight of the first ranks. 0 means DefaultFuseK.
	K int
	// Weights are the weights of the lists, 0 or more. nil means 1 each.
	Weights []float64
	// TopK cuts the result. 0 means no cut.
	TopK int
	// Method is what the metadata retrieval_method says. Empty means "rrf".
	Method string
}

// Fuse merges ranked lists by reciprocal rank fusion: an item scores the sum of
// weight / (K + rank) over its places, rank from 1. Items are the same when their
// ids are; the copy with the highest score of its own is kept. Scores are then
// scaled so that the best item of the result has 1 and the worst 0 (all 0 when
// several tie, 1 for a single one); the metadata holds the score before scaling as
// rrf_raw_score. Ties keep the order of first appearance.
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

// sum returns the items in the order of first appearance.
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

// scale returns copies with scores from 0 to 1; fused is sorted.
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

// RoundRobin merges lists by taking the first of each, then the second of each, and
// so on, each id once. topK 0 means no cut.
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
