package host

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"time"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/host/internal/fairness"
)

// with lends an instance to f for one call of op. Under StateKeep an instance
// whose call failed is closed; so is one that is worn out. Otherwise it is reset
// or replaced before the next call.
func (p *Plugin) with(ctx context.Context, op abi.Operation, step string, timeout time.Duration, f func(*instance) error) error {
	o := p.observe(op, step)
	probe, err := p.admit()
	if err != nil {
		failed := p.inStep(p.failure(op, nil, err), step)
		p.ended(ctx, o, failed)
		return failed
	}
	ended := fairness.Neutral
	var failed *PluginError
	defer func() {
		p.judge(probe, ended, failed)
		if failed != nil || o != nil && ended == fairness.Good {
			p.ended(ctx, o, failed)
		}
	}()
	in, err := p.borrow(ctx)
	if o != nil {
		o.InstanceWait = o.lap()
	}
	if err == nil {
		if err = in.queue(ctx); err != nil {
			p.pool.put(in)
			if o != nil {
				o.ProcessorWait = o.lap()
			}
		}
	}
	if err != nil {
		failed = p.inStep(p.failure(op, nil, err), step)
		ended = outcome(nil, failed)
		return failed
	}
	in.spoiled = true // until the call is seen to end well
	good := false
	defer func() { p.takeBack(in, good, o) }()
	if err = in.serve(ctx, timeout, f, o); err != nil {
		failed = p.inStep(p.failure(op, in, err), step)
		ended = outcome(in, failed)
		return failed
	}
	good, ended = true, fairness.Good
	return nil
}

// serve makes one call. The caller ends the state of the call.
func (in *instance) serve(ctx context.Context, timeout time.Duration, f func(*instance) error, o *observed) error {
	fuel := in.plugin.limits.Fuel
	in.state.begin(ctx, timeout, fuel)
	in.watch()
	in.prepare(fuel)
	err := f(in)
	used := in.fuelUsed()
	in.tendStacks(used, err)
	account(ctx, used)
	in.calls++
	in.spoiled = !in.resettable(err)
	in.countCall(used, err)
	if o != nil {
		o.ran(in)
	}
	return err
}

// takeBack takes an instance back after a call, and lets others run from time to time: after
// a call that failed before whoever waits for the instance, which would run next here, as
// calls that fail at once could otherwise go on among themselves.
func (p *Plugin) takeBack(in *instance, good bool, o *observed) {
	in.quiet = in.unwatch()
	in.state.end()
	due := in.due()
	switch {
	case !good || due && !in.quiet:
		runtime.Gosched()
	case due:
		defer runtime.Gosched() // when the instance is back
	}
	if o != nil {
		o.lap()
	}
	switch {
	case p.state != StateKeep:
		if in.resetTook == 0 || in.resetTook > quickReset {
			in.handIn() // nobody finds it until it is reset
		}
		p.pool.giveBack(in)
	case good && !in.worn():
		p.pool.put(in)
	default:
		in.countLost()
		p.pool.discard(in)
	}
	if o != nil {
		o.Reset = o.lap()
	}
}

// borrow waits for a free instance. Under StateKeep it is one that no other tenant had.
func (p *Plugin) borrow(ctx context.Context) (*instance, error) {
	if ctx.Err() != nil {
		return nil, contextFault(ctx)
	}
	if err := p.checkFolders(); err != nil {
		return nil, err
	}
	in, err := p.lent(ctx)
	if err != nil {
		return nil, p.notLent(ctx, err)
	}
	if p.state == StateKeep {
		return p.ownedBy(ctx, in)
	}
	return in, nil
}

// lent takes an instance from the pool. Where the host has no room for even one, it waits
// for that, but not for a call within a call.
func (p *Plugin) lent(ctx context.Context) (*instance, error) {
	if n := nestOf(ctx); n != nil {
		return n.lend(ctx, p)
	}
	in, err := p.pool.get(ctx, p.limits.QueueTimeout)
	if errors.Is(err, errNoRoom) && !errors.Is(err, errBusy) { // not even for one
		return p.makeInRoom(ctx, func() (*instance, error) { return p.pool.get(ctx, p.limits.QueueTimeout) })
	}
	return in, err
}

// makeInRoom calls make until there is room for the instance that it makes, within the
// time that a call waits.
func (p *Plugin) makeInRoom(ctx context.Context, make func() (*instance, error)) (in *instance, err error) {
	err = p.host.reclaimer.inRoom(ctx, p.limits.QueueTimeout, func() error {
		in, err = make()
		return err
	})
	return in, err
}

// notLent is the fault of a call that was lent no instance.
func (p *Plugin) notLent(ctx context.Context, err error) error {
	switch {
	case errors.Is(err, errBusy):
		return p.busy(err)
	case errors.Is(err, ErrClosed):
		return errPluginClosed()
	case ctx.Err() != nil && errors.Is(err, ctx.Err()):
		return contextFault(ctx)
	}
	return err
}

// errPluginClosed is the fault of a call after Close.
func errPluginClosed() *fault {
	return &fault{code: abi.ReasonBusy, err: as(ErrClosed, errors.New("the plugin is closed and takes no more calls")), remedy: noRemedy}
}

// ownedBy returns the lent instance if the tenant of ctx may have it, as it served nobody
// else, or another in its place. What an instance keeps stays with one tenant.
func (p *Plugin) ownedBy(ctx context.Context, in *instance) (*instance, error) {
	tenant := tenantOf(ctx)
	if in.tenant != tenant && in.tenant != "" {
		own := func(in *instance) bool { return in.tenant == tenant }
		fresh := func(in *instance) bool { return in.tenant == "" }
		var err error
		if in, err = p.pool.exchange(ctx, p.limits.QueueTimeout, in, own, fresh); err != nil {
			return nil, p.notLent(ctx, err)
		}
	}
	in.tenant = tenant
	return in, nil
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
