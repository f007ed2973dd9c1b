package host

import (
	"context"
	"errors"
	"time"

	"github.com/anchor-host/anchor-host/host/internal/guard"
	"github.com/anchor-host/anchor-host/host/internal/wasi"
)

// wasiState returns what the guest sees through WASI in whose call a host function runs.
func wasiState(ctx context.Context) *wasi.State { return &stateOf(ctx).inst.wasi }

// wasiCall implements wasi.Call for the calls of an instance.
type wasiCall struct{ *callState }

// Spend implements wasi.Call.
func (c wasiCall) Spend(fuel int64) { c.spend(fuel) }

// Stop implements wasi.Call.
func (c wasiCall) Stop() { c.stop() }

// Leave implements wasi.Call.
func (c wasiCall) Leave() { c.leave() }

// Rejoin implements wasi.Call.
func (c wasiCall) Rejoin() { c.rejoin() }

// Sleep implements wasi.Call.
func (c wasiCall) Sleep(ns int64) { c.sleep(ns) }

// Run implements mounts.Call.
func (c wasiCall) Run(f func() (any, error), late func(any)) (v any, abandoned bool, err error) {
	v, err = beside(c.callState, givenName, func(context.Context) (any, error) { return f() }, late)
	return v, errors.Is(err, guard.ErrLate), err
}

// Close implements mounts.Call.
func (c wasiCall) Close(f func() error, patience time.Duration) (overdue bool) {
	ctx, cancel := c.context()
	over := clock() >= c.deadline
	if over {
		cancel()
		ctx, cancel = context.WithTimeout(context.Background(), patience)
	}
	defer cancel()
	err := guard.Finish(ctx, c.inst.env.guard, givenName, f)
	return over && errors.Is(err, guard.ErrLate)
}
