package pipeline

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"

	"github.com/anchor-host/anchor-host/pipeline/core"
	"github.com/anchor-host/anchor-host/pipeline/internal/warn"
)

// Hybrid is a [Retriever] that asks several retrievers at the same time and merges
// their lists with [Fuse]. It logs a retriever that fails at WARN and continues without it.
// When all fail, Hybrid fails. It is safe for concurrent use.
type Hybrid struct {
	Retrievers []Retriever
	// Weights are the weights of the retrievers. nil means 1 each.
	Weights []float64
	// K is FuseOptions.K of the fusion. 0 means DefaultFuseK.
	K int
	// Logger is slog.Default when nil.
	Logger *slog.Logger
}

// Retrieve asks each retriever for topK items. It waits for all of them.
func (h *Hybrid) Retrieve(ctx context.Context, q *Query, topK int) ([]Item, error) {
	lists := make([][]Item, len(h.Retrievers))
	errs := make([]error, len(h.Retrievers))
	var running sync.WaitGroup
	for i, r := range h.Retrievers {
		own := q.Clone()
		running.Go(func() {
			errs[i] = errExited
			errs[i] = core.Guard(func() (err error) {
				lists[i], err = retrieve(ctx, r, &own, orTopK(topK))
				return err
			})
		})
	}
	running.Wait()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := h.tolerate(ctx, errs); err != nil {
		return nil, err
	}
	return Fuse(lists, FuseOptions{K: h.K, Weights: h.Weights, TopK: topK, Method: "hybrid_rrf"})
}

// tolerate logs the failures. It returns them as an error if all retrievers failed.
func (h *Hybrid) tolerate(ctx context.Context, errs []error) error {
	failed := 0
	for i, err := range errs {
		if err == nil {
			continue
		}
		failed++
		logger := h.Logger
		if logger == nil {
			logger = slog.Default()
		}
		warn.Log(ctx, logger, "retriever left out", err, slog.Int("retriever", i))
	}
	if failed > 0 && failed == len(errs) {
		return fmt.Errorf("hybrid: all %d retrievers fail: %w", failed, errors.Join(errs...))
	}
	return nil
}
