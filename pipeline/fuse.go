package pipeline

import (
	"cmp"
	"fmt"
	"maps"

	"github.com/anchor-host/anchor-host/pipeline/retrieve"
)

// DefaultFuseK is the k of reciprocal rank fusion.
const DefaultFuseK = retrieve.DefaultRRFK

// Fusion is a way to merge ranked lists.
type Fusion = retrieve.Fusion

// The ways to merge lists.
const (
	// FusionRRF is [retrieve.FusionRRF]. Its scores are then scaled so that the best item
	// of the result has 1 and the worst has 0. If all items have the same score, they all
	// get 0; a single item gets 1. The metadata rrf_raw_score holds the score before
	// scaling.
	FusionRRF = retrieve.FusionRRF
	// FusionWeighted is [retrieve.FusionWeighted].
	FusionWeighted = retrieve.FusionWeighted
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
	// Weights are the weights of the lists, 0 or more, with a finite sum. nil means 1 each.
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
	items := make(map[string]Item)
	ranked := make([][]retrieve.Ranked[string], len(lists))
	for i, list := range lists {
		for _, it := range list {
			if have, ok := items[it.ID]; !ok || it.Score > have.Score {
				items[it.ID] = it
			}
			ranked[i] = append(ranked[i], retrieve.Ranked[string]{ID: it.ID, Score: it.Score})
		}
	}
	fused, err := retrieve.Fuse(ranked, retrieve.FuseOptions{Fusion: opts.Fusion, K: opts.K, Weights: opts.Weights})
	if err != nil {
		return nil, err
	}
	if opts.TopK > 0 && len(fused) > opts.TopK {
		fused = fused[:opts.TopK]
	}
	out := make([]Item, len(fused))
	for i, f := range fused {
		out[i] = opts.marked(items[f.ID])
		out[i].Score = f.Score
	}
	if opts.Fusion == FusionRRF {
		scale(out)
	}
	return out, nil
}

func (o *FuseOptions) validate(lists int) error {
	switch {
	case o.Fusion != FusionRRF && o.Fusion != FusionWeighted && o.Fusion != FusionRoundRobin:
		return fmt.Errorf("fuse: fusion %q: %w (want rrf, weighted or round_robin)", o.Fusion, ErrInvalid)
	case o.TopK < 0:
		return fmt.Errorf("fuse: top_k %d: %w (want 0 or more)", o.TopK, ErrInvalid)
	}
	checked := retrieve.FuseOptions{K: o.K, Weights: o.Weights}
	return checked.Validate(lists)
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

// scale gives sorted items scores from 0 to 1, and keeps their own in the metadata.
func scale(items []Item) {
	if len(items) == 0 {
		return
	}
	highest, lowest := items[0].Score, items[len(items)-1].Score
	for i := range items {
		raw := items[i].Score
		switch {
		case len(items) == 1:
			items[i].Score = 1
		case highest > lowest:
			items[i].Score = (raw - lowest) / (highest - lowest)
		default:
			items[i].Score = 0
		}
		items[i].Metadata["rrf_raw_score"] = raw
	}
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
