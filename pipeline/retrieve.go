package pipeline

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/anchor-host/anchor-host/pipeline/core"
	"github.com/anchor-host/anchor-host/pipeline/internal/abandon"
	"github.com/anchor-host/anchor-host/pipeline/internal/warn"
)

// askFor calls r, drops items beyond topK and fills in defaults.
func askFor(ctx context.Context, r Retriever, q *Query, topK int) ([]Item, error) {
	found, err := r.Retrieve(ctx, q, topK)
	if err != nil {
		return nil, err
	}
	if len(found) > topK {
		core.Degraded(ctx, core.Degradation{Kind: core.KindCut, Reason: "top_k", Message: fmt.Sprintf("a retriever returned %d results, of which top_k keeps %d", len(found), topK)})
		found = found[:topK]
	}
	return withDefaults(found, SourceRetrieval), nil
}

func orTopK(topK int) int {
	if topK <= 0 {
		return DefaultTopK
	}
	return topK
}

// retrieval is one of several calls of retrievers whose lists are merged.
type retrieval struct {
	name      string
	retriever Retriever
	query     Query // a copy that only this call uses
	topK      int
	timeout   time.Duration // 0 for none
}

// run makes the call and checks the items, so that a retriever whose items are not valid
// fails alone.
func (r *retrieval) run(ctx context.Context) ([]Item, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	items, err := within(ctx, r.timeout, r.retriever, func(ctx context.Context) ([]Item, error) {
		return askFor(ctx, r.retriever, &r.query, r.topK)
	})
	if err != nil {
		return nil, err
	}
	return items, core.ValidateItems(items)
}

// maxRetrievals is the number of retrievals of one step that run at the same time.
const maxRetrievals = 8

// retrieveAll makes the calls at the same time and waits for all of them. It returns the
// lists of the calls that succeed, the indices of these calls, and the errors of the others, which it
// logs. If all calls fail, retrieveAll fails. what names one call in logs and errors.
func retrieveAll(ctx context.Context, what string, calls []retrieval) (lists [][]Item, answered []int, failed []error, err error) {
	all, errs := make([][]Item, len(calls)), make([]error, len(calls))
	running, free := sync.WaitGroup{}, make(chan struct{}, maxRetrievals)
	for i := range calls {
		c := &calls[i]
		free <- struct{}{}
		running.Go(func() {
			defer func() { <-free }()
			errs[i] = abandon.ErrExited
			all[i], errs[i] = c.run(ctx)
		})
	}
	running.Wait()
	if err := ctx.Err(); err != nil {
		return nil, nil, nil, err
	}
	for i, err := range errs {
		if err == nil {
			lists, answered = append(lists, all[i]), append(answered, i)
			continue
		}
		failed = append(failed, fmt.Errorf("%s %q: %w", what, calls[i].name, err))
	}
	if len(failed) > 0 && len(lists) == 0 {
		return nil, nil, nil, errors.Join(failed...)
	}
	for i, err := range errs {
		if err != nil {
			noteUnanswered(ctx, fmt.Sprintf("%s %q left out", what, calls[i].name), err)
			warn.Log(ctx, loggerFrom(ctx), what+" left out", err, slog.String(what, calls[i].name))
		}
	}
	return lists, answered, failed, nil
}

// withDefaults sets the given source on items without one, and the default priority of their
// source on items without a priority. It copies the list when it must change something.
func withDefaults(items []Item, source Source) []Item {
	copied := false
	for i := range items {
		if items[i].Source != "" && items[i].Priority != 0 {
			continue
		}
		if !copied {
			items, copied = append([]Item(nil), items...), true
		}
		if items[i].Source == "" {
			items[i].Source = source
		}
		if items[i].Priority == 0 {
			items[i].Priority = items[i].Source.DefaultPriority()
		}
	}
	return items
}
