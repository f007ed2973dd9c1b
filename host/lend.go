package host

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"time"

	"github.com/anchor-host/anchor-host/abi"
)

// with lends an instance to f for one call of op. Under StateKeep an instance
// whose call failed is closed; so is one that is worn out. Otherwise it is reset
// or replaced before the next call.
func (p *Plugin) with(ctx context.Context, op abi.Operation, step string, timeout time.Duration, f func(*instance) error) error {
	in, err := p.borrow(ctx)
	if err != nil {
		return p.inStep(p.failure(op, nil, err), step)
	}
	in.spoiled = true // until the call is seen to end well
	good := false
	defer func() {
		in.quiet = in.unwatch()
		in.state.end()
		if in.quiet && in.due() {
			defer runtime.Gosched() // when the instance is back
		}
		switch {
		case p.state != StateKeep:
			p.pool.giveBack(in)
		case good && !in.worn():
			p.pool.put(in)
		default:
			p.pool.discard(in)
		}
	}()
	in.state.begin(ctx, timeout, p.limits.Fuel)
	in.watch()
	in.prepare(p.limits.Fuel)
	err = f(in)
	used := in.fuelUsed()
	in.tendStacks(used, err)
	account(ctx, used)
	in.calls++
	in.spoiled = !in.resettable(err)
	if err != nil {
		return p.inStep(p.failure(op, in, err), step)
	}
	good = true
	return nil
}

// borrow waits for a free instance.
func (p *Plugin) borrow(ctx context.Context) (*instance, error) {
	if ctx.Err() != nil {
		return nil, contextFault(ctx)
	}
	if err := nestOf(ctx).admit(p); err != nil {
		return nil, err
	}
	in, err := p.pool.get(ctx, p.limits.QueueTimeout)
	switch {
	case errors.Is(err, errBusy):
		return nil, p.busy(err)
	case errors.Is(err, ErrClosed):
		return nil, &fault{code: abi.ReasonBusy, err: fmt.Errorf("the plugin is closed: %w", ErrClosed), remedy: noRemedy}
	case err != nil && ctx.Err() != nil && errors.Is(err, ctx.Err()):
		return nil, contextFault(ctx)
	}
	return in, err
}

// busy is the fault of a call for which no instance came free. If no other could be made
// either, raising the plugin's own limits would not help.
func (p *Plugin) busy(err error) *fault {
	var cause *PluginError
	if errors.As(err, &cause) {
		return &fault{code: abi.ReasonBusy, remedy: cmp.Or(cause.Remedy, noRemedy),
			err: fmt.Errorf("no instance came free within %v, and no other could be made: %s", p.limits.QueueTimeout, cause.Err.Error())}
	}
	return faultf(abi.ReasonBusy, "no instance came free within %v", p.limits.QueueTimeout)
}

// inStep notes the name of the step in an error.
func (p *Plugin) inStep(e *PluginError, step string) *PluginError {
	e.Step = step
	return e
}
