package pipeline

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/anchor-host/anchor-host/pipeline/core"
	"github.com/anchor-host/anchor-host/pipeline/internal/abandon"
)

// within calls f for a part of a build, such as its memory provider, and bounds its time. A
// timeout of 0 means no bound. within may abandon a part that is not [Isolated] while f is
// running. So f must not use anything that the build uses afterwards.
func within[T any](ctx context.Context, timeout time.Duration, part any, f func(context.Context) (T, error)) (T, error) {
	if timeout <= 0 {
		return guarded(ctx, f)
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	if isolated(part) {
		return guarded(ctx, f)
	}
	return leave(ctx, timeout, part, f)
}

// leave calls f in a goroutine of its own, and abandons it when the context ends first. If too
// many abandoned calls of the part still run, f is not called, and the error says so. timeout is
// the time limit of the context, for the error; 0 means that it has none.
func leave[T any](ctx context.Context, timeout time.Duration, part any, f func(context.Context) (T, error)) (T, error) {
	value, err := abandon.Call(ctx, part, func() (T, error) { return guarded(ctx, f) })
	if timeout > 0 && ctx.Err() != nil && errors.Is(err, context.DeadlineExceeded) {
		err = fmt.Errorf("no answer within %v: %w", timeout, err)
	}
	return value, err
}

// guarded calls f and turns a panic into an error.
func guarded[T any](ctx context.Context, f func(context.Context) (T, error)) (value T, err error) {
	err = core.Guard(func() (err error) {
		value, err = f(ctx)
		return err
	})
	return value, err
}

// timedFormatter bounds the time of each call of a formatter.
type timedFormatter struct {
	Formatter
	timeout time.Duration
}

// Format implements [Formatter].
func (t timedFormatter) Format(ctx context.Context, w *Window) (any, error) {
	if !isolated(t.Formatter) {
		own := *w
		own.Items = core.CloneItems(w.Items)
		w = &own
	}
	return within(ctx, t.timeout, t.Formatter, func(ctx context.Context) (any, error) { return t.Formatter.Format(ctx, w) })
}
