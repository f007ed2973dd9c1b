package pipeline

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"

	"github.com/anchor-host/anchor-host/pipeline/core"
	"github.com/anchor-host/anchor-host/pipeline/internal/warn"
)

// Hybrid is a [Retriever] that asks several retrievers at the same time and merges their
// lists with [Fuse]. It leaves out a retriever that fails, and logs the failure at WARN. If
// all retrievers fail, Hybrid fails. It is safe for concurrent use.
type Hybrid struct {
	// Parts are the retrievers, at least one.
	Parts []HybridPart
	// Fusion is the way to merge the lists. Empty means FusionWeighted.
	Fusion Fusion
	// K is the k of FusionRRF. 0 means DefaultFuseK.
	K int
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
		asked[i] = retrieval{name: p.Name, retriever: p.Retriever, query: q.Clone(), topK: cmp.Or(p.TopK, topK)}
	}
	lists, answered, err := retrieveAll(ctx, "retriever", asked)
	if err != nil {
		return nil, err
	}
	weights := make([]float64, len(answered))
	for i, at := range answered {
		weights[i] = cmp.Or(h.Parts[at].Weight, 1)
	}
	opts := FuseOptions{Fusion: cmp.Or(h.Fusion, FusionWeighted), K: h.K, Weights: weights, TopK: topK}
	opts.Method = "hybrid_" + string(opts.Fusion)
	return Fuse(lists, opts)
}

// retrieval is one of several calls of retrievers whose lists are merged.
type retrieval struct {
	name      string
	retriever Retriever
	query     Query // a copy that only this call uses
	topK      int
}

// maxRetrievals is the number of retrievals of one step that run at the same time.
const maxRetrievals = 8

// retrieveAll makes the calls at the same time and waits for all of them. It returns the
// lists of the calls that succeed, and the indices of these calls. It logs the others. If
// all calls fail, retrieveAll fails. what names one call in logs and errors.
func retrieveAll(ctx context.Context, what string, calls []retrieval) (lists [][]Item, answered []int, err error) {
	all, errs := make([][]Item, len(calls)), make([]error, len(calls))
	running, free := sync.WaitGroup{}, make(chan struct{}, maxRetrievals)
	for i := range calls {
		c := &calls[i]
		free <- struct{}{}
		running.Go(func() {
			defer func() { <-free }()
			errs[i] = errExited
			errs[i] = core.Guard(func() (err error) {
				all[i], err = retrieve(ctx, c.retriever, &c.query, c.topK)
				return err
			})
		})
	}
	running.Wait()
	if err := ctx.Err(); err != nil {
		return nil, nil, err
	}
	var failed []error
	for i, err := range errs {
		if err == nil {
			lists, answered = append(lists, all[i]), append(answered, i)
			continue
		}
		failed = append(failed, fmt.Errorf("%s %q: %w", what, calls[i].name, err))
	}
	if len(failed) > 0 && len(lists) == 0 {
		return nil, nil, errors.Join(failed...)
	}
	for i, err := range errs {
		if err != nil {
			warn.Log(ctx, loggerFrom(ctx), what+" left out", err, slog.String(what, calls[i].name))
		}
	}
	return lists, answered, nil
}
