package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/anchor-host/anchor-host/internal/config"
)

// within runs the work of a command within its timeout, 0 for none. The error of
// work that took too long says how to give it more time.
func within[T any](ctx context.Context, timeout config.Duration, work func(context.Context) (T, error)) (T, error) {
	if timeout <= 0 {
		return work(ctx)
	}
	ctx, cancel := context.WithTimeout(ctx, time.Duration(timeout))
	defer cancel()
	done, err := work(ctx)
	if errors.Is(err, context.DeadlineExceeded) && errors.Is(ctx.Err(), context.DeadlineExceeded) {
		err = fmt.Errorf("%w (all of it may take %v: raise --timeout, or timeout in anchor.yaml)", err, timeout)
	}
	return done, err
}
