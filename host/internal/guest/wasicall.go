package guest

import (
	"context"
	"errors"
	"time"

	"github.com/anchor-host/anchor-host/host/internal/guard"
	"github.com/anchor-host/anchor-host/host/internal/wasi"
)

// WASIState returns what the guest sees through WASI in whose call a host function runs.
func WASIState(ctx context.Context) *wasi.State { return &CallOf(ctx).Instance.WASI }

// MountName is how errors and the log call a file system of the embedder.
const MountName = "file system of a mount"

// Run implements mounts.Call.
func (c *Call) Run(f func() (any, error), late func(any)) (v any, abandoned bool, err error) {
	v, err = Beside(c, MountName, func(context.Context) (any, error) { return f() }, late)
	return v, errors.Is(err, guard.ErrLate), err
}

// Close implements mounts.Call.
func (c *Call) Close(f func() error, patience time.Duration) (overdue bool) {
	ctx, cancel := c.Bounded()
	over := Clock() >= c.deadline
	if over {
		cancel()
		ctx, cancel = context.WithTimeout(context.Background(), patience)
	}
	defer cancel()
	err := guard.Finish(ctx, c.Instance.Env.Guard, MountName, f)
	return over && errors.Is(err, guard.ErrLate)
}
