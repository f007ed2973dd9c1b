package pipeline

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/anchor-host/anchor-host/pipeline/core"
)

// errExited is the failure of code that ended its goroutine.
var errExited = errors.New("called runtime.Goexit")

// within calls a part of a build, such as its memory provider, and bounds its time; a
// timeout of 0 is no bound. A part that is not [Isolated] may be left behind, so that f must
// not use what the build goes on with.
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

// leave calls f in a goroutine of its own, and leaves it behind when the context ends first.
// timeout is the bound that the context has, 0 for none.
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
