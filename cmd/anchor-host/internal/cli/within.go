package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/anchor-host/anchor-host/host"
	"github.com/anchor-host/anchor-host/internal/config"
)

// Within runs the work of a command for the tenant of its configuration and within its
// timeout; 0 means none. The error of work that took too long says how to give it
// more time.
func Within[T any](ctx context.Context, c *config.Config, work func(context.Context) (T, error)) (T, error) {
	ctx = host.WithTenant(ctx, c.TenantName())
	if c.Timeout <= 0 {
		return work(ctx)
	}
	ctx, cancel := context.WithTimeout(ctx, time.Duration(c.Timeout))
	defer cancel()
	done, err := work(ctx)
	if errors.Is(err, context.DeadlineExceeded) && errors.Is(ctx.Err(), context.DeadlineExceeded) {
		err = fmt.Errorf("%w (all of it may take %v: raise --timeout, or timeout in anchor.yaml)", err, c.Timeout)
	}
	return done, err
}
