package pipeline

import (
	"cmp"
	"context"
	"errors"
	"time"
)

// Hybrid is a [Retriever] that asks several retrievers at the same time and merges their
// lists with [Fuse]. It leaves out a retriever that fails or returns an item that is not
// valid, and logs the failure at WARN. If all retrievers fail, Hybrid fails. It is safe for
// concurrent use.
type Hybrid struct {
	// Parts are the retrievers, at least one.
	Parts []HybridPart
	// Fusion is the way to merge the lists. Empty means FusionWeighted.
	Fusion Fusion
	// K is the k of FusionRRF. 0 means DefaultFuseK.
	K int
	// Must fails the Hybrid if one of its retrievers fails, and leaves none out.
	Must bool
}

// HybridPart is one retriever of a [Hybrid].
type HybridPart struct {
	// Name appears in logs and errors.
	Name      string
	Retriever Retriever
	// Weight is the weight of its list, above 0. 0 means 1.
	Weight float64
	// TopK is the number of items to ask this retriever for. 0 means the number that the
	// Hybrid is asked for.
	TopK int
	// Timeout bounds its call. 0 means no bound of its own. If a retriever ignores the end
	// of its context, its goroutine goes on, but Hybrid does not wait for it.
	Timeout time.Duration
}

func (h *Hybrid) parts() []any {
	parts := make([]any, len(h.Parts))
	for i := range h.Parts {
		parts[i] = h.Parts[i].Retriever
	}
	return parts
}

func (h *Hybrid) showsItems() bool { return false }

// Retrieve asks each retriever and waits for all of them. It returns at most topK items;
// topK 0 means [DefaultTopK].
func (h *Hybrid) Retrieve(ctx context.Context, q *Query, topK int) ([]Item, error) {
	topK = orTopK(topK)
	asked := make([]retrieval, len(h.Parts))
	for i, p := range h.Parts {
		asked[i] = retrieval{name: p.Name, retriever: p.Retriever, query: q.Clone(), topK: cmp.Or(p.TopK, topK), timeout: p.Timeout}
	}
	lists, answered, failed, err := retrieveAll(ctx, "retriever", asked)
	if err != nil {
		return nil, err
	}
	if h.Must && len(answered) < len(h.Parts) {
		return nil, errors.Join(failed...)
	}
	weights := make([]float64, len(answered))
	for i, at := range answered {
		weights[i] = cmp.Or(h.Parts[at].Weight, 1)
	}
	opts := FuseOptions{Fusion: cmp.Or(h.Fusion, FusionWeighted), K: h.K, Weights: weights, TopK: topK}
	opts.Method = "hybrid_" + string(opts.Fusion)
	return Fuse(lists, opts)
}
