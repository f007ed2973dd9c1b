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

// Fusion is a way to merge ranked lists.
type Fusion string

// The ways to merge lists.
const (
	// FusionRRF is reciprocal rank fusion: the score of an item is the sum of weight / (K +
	// rank) over its places in the lists. Ranks begin at 1. Scores are then scaled so that
	// the best item of the result has 1 and the worst has 0. If all items have the same
	// score, they all get 0; a single item gets 1. The metadata rrf_raw_score holds the
	// score before scaling.
	FusionRRF Fusion = "rrf"
	// FusionWeighted scales the scores of each list so that its best item has 1 and its
	// worst has 0. If all scores of a list are equal, they become 1. The score of an item
	// is the weighted mean over the lists; a list without the item counts as 0.
	FusionWeighted Fusion = "weighted"
	// FusionRoundRobin takes the first item of each list, then the second of each, and so
	// on, as [RoundRobin] does. The scores fall evenly from 1. Weights have no effect.
	FusionRoundRobin Fusion = "round_robin"
)

// FuseOptions are the settings of [Fuse].
type FuseOptions struct {
	// Fusion is FusionRRF when empty.
	Fusion Fusion
	// K is for FusionRRF; it reduces the advantage of the first ranks. 0 means DefaultFuseK.
	K int
	// Weights are the weights of the lists, 0 or more. nil means 1 each.
	Weights []float64
	// TopK is the largest length of the result. 0 means no limit.
	TopK int
	// Method is the value of the metadata retrieval_method. Empty means the name of the
	// fusion.
	Method string
}

// Fuse merges ranked lists. Items with the same id are the same item; Fuse keeps the copy
// with the highest score of its own. Items with equal scores keep the order in which they
// first appeared.
func Fuse(lists [][]Item, opts FuseOptions) ([]Item, error) {
	opts.Fusion = cmp.Or(opts.Fusion, FusionRRF)
	opts.K = cmp.Or(opts.K, DefaultFuseK)
	opts.Method = cmp.Or(opts.Method, string(opts.Fusion))
	if err := opts.validate(len(lists)); err != nil {
		return nil, err
	}
	if opts.Fusion == FusionRoundRobin {
		return opts.alternate(lists), nil
	}
	fused := opts.sum(lists)
	slices.SortStableFunc(fused, func(a, b fusedItem) int { return cmp.Compare(b.raw, a.raw) })
	if opts.TopK > 0 && len(fused) > opts.TopK {
		fused = fused[:opts.TopK]
	}
	if opts.Fusion == FusionWeighted {
		return opts.mean(fused, len(lists)), nil
	}
	return opts.scale(fused), nil
}

func (o *FuseOptions) validate(lists int) error {
	switch {
	case o.Fusion != FusionRRF && o.Fusion != FusionWeighted && o.Fusion != FusionRoundRobin:
		return fmt.Errorf("fuse: fusion %q: %w (want rrf, weighted or round_robin)", o.Fusion, ErrInvalid)
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

// weight is the weight of a list.
func (o *FuseOptions) weight(list int) float64 {
	if o.Weights == nil {
		return 1
	}
	return o.Weights[list]
}

// sum returns the items with their summed scores, in the order of first appearance.
func (o *FuseOptions) sum(lists [][]Item) []fusedItem {
	var fused []fusedItem
	place := make(map[string]int)
	for i, list := range lists {
		gain := o.gains(list, o.weight(i))
		for rank, it := range list {
			at, ok := place[it.ID]
			if !ok {
				at = len(fused)
				place[it.ID] = at
				fused = append(fused, fusedItem{item: it})
			} else if it.Score > fused[at].item.Score {
				fused[at].item = it
			}
			fused[at].raw += gain(rank)
		}
	}
	return fused
}

// gains returns a function: how much the place at a rank of the list adds to the score of
// its item.
func (o *FuseOptions) gains(list []Item, weight float64) func(rank int) float64 {
	if o.Fusion == FusionRRF {
		return func(rank int) float64 { return weight / float64(o.K+rank+1) }
	}
	lowest, highest := math.Inf(1), math.Inf(-1)
	for i := range list {
		lowest, highest = min(lowest, list[i].Score), max(highest, list[i].Score)
	}
	seen := make(map[string]bool, len(list))
	return func(rank int) float64 {
		it := &list[rank]
		again := seen[it.ID]
		seen[it.ID] = true
		switch {
		case again: // only the first place of an item counts
			return 0
		case highest > lowest:
			return weight * (it.Score - lowest) / (highest - lowest)
		}
		return weight
	}
}

// mean returns copies whose scores are the sums divided by the total weight.
func (o *FuseOptions) mean(fused []fusedItem, lists int) []Item {
	total := 0.0
	for i := range lists {
		total += o.weight(i)
	}
	out := make([]Item, len(fused))
	for i, f := range fused {
		out[i] = o.marked(f.item)
		if out[i].Score = 0; total > 0 {
			out[i].Score = min(1, f.raw/total)
		}
	}
	return out
}

// alternate returns the first item of each list, then the second of each, and so on.
func (o *FuseOptions) alternate(lists [][]Item) []Item {
	out := RoundRobin(lists, o.TopK)
	for i := range out {
		out[i] = o.marked(out[i])
		out[i].Score = 1 - float64(i)/float64(len(out))
	}
	return out
}

// marked returns a copy of an item whose metadata name the method.
func (o *FuseOptions) marked(it Item) Item {
	metadata := make(map[string]any, len(it.Metadata)+2)
	maps.Copy(metadata, it.Metadata)
	metadata["retrieval_method"] = o.Method
	it.Metadata = metadata
	return it
}

// scale returns copies with scores from 0 to 1; fused must be sorted.
func (o *FuseOptions) scale(fused []fusedItem) []Item {
	out := make([]Item, len(fused))
	for i, f := range fused {
		lowest, highest := fused[len(fused)-1].raw, fused[0].raw
		out[i] = o.marked(f.item)
		switch {
		case len(fused) == 1:
			out[i].Score = 1
		case highest > lowest:
			out[i].Score = (f.raw - lowest) / (highest - lowest)
		default:
			out[i].Score = 0
		}
		out[i].Metadata["rrf_raw_score"] = f.raw
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
