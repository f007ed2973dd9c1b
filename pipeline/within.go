package pipeline

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/anchor-host/anchor-host/pipeline/core"
)

// errExited is the error of code that ended its goroutine.
var errExited = errors.New("called runtime.Goexit")

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
	return leave(ctx, timeout, f)
}

// leave calls f in a goroutine of its own, and abandons it when the context ends first.
// timeout is the time limit of the context, for the error; 0 means that it has none.
func leave[T any](ctx context.Context, timeout time.Duration, f func(context.Context) (T, error)) (T, error) {
	type answer struct {
		value T
		err   error
	}
	done := make(chan answer, 1)
	go func() {
		a := answer{err: errExited}
		defer func() { done <- a }()
		a.value, a.err = guarded(ctx, f)
	}()
	var none T
	select {
	case a := <-done:
		return a.value, a.err
	case <-ctx.Done():
		if errors.Is(ctx.Err(), context.DeadlineExceeded) && timeout > 0 {
			return none, fmt.Errorf("no answer within %v: %w", timeout, ctx.Err())
		}
		return none, ctx.Err()
	}
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
