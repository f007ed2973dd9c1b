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
	"github.com/anchor-host/anchor-host/host/internal/guest"
	"github.com/anchor-host/anchor-host/host/internal/pool"
	"github.com/anchor-host/anchor-host/internal/errkind"
)

// with lends an instance to f for one call of op. Under StateKeep the instance is closed
// afterwards if the call failed or the instance is worn out. Otherwise it is reset or replaced
// before the next call.
func (p *Plugin) with(ctx context.Context, op abi.Operation, step string, timeout time.Duration, f func(*guest.Instance) error) error {
	ctx, o := p.observe(ctx, op, step)
	probe, err := p.admit(ctx)
	if err != nil {
		failed := p.inStep(p.failure(op, nil, err), step)
		p.ended(ctx, o, failed)
		return failed
	}
	ended, failed := fairness.Neutral, (*PluginError)(nil)
	defer func() {
		p.judge(ctx, probe, ended, failed)
		if failed != nil || o != nil && ended == fairness.Good {
			p.ended(ctx, o, failed)
		}
	}()
	timed := guest.Watch(ctx)
	in, err := p.borrow(ctx)
	o.lap(instanceWait)
	if err == nil {
		if err = p.queue(ctx, in); err != nil {
			p.pool.Put(in)
			o.lap(processorWait)
		}
	}
	if err != nil {
		timed.Stop(nil)
		failed = p.inStep(p.failure(op, nil, err), step)
		ended = outcome(nil, failed)
		return failed
	}
	in.Call.Op, in.Unusable = op, true // unusable until the call has ended well
	good := false
	defer func() { p.takeBack(in, good, o) }()
	err = p.serve(ctx, in, timeout, f, o)
	timed.Stop(in)
	if err != nil {
		failed = p.inStep(p.failure(op, in, err), step)
		ended = outcome(in, failed)
		p.recorded(in, op, step, failed)
		return failed
	}
	p.recorded(in, op, step, nil)
	good, ended = true, fairness.Good
	return nil
}

// serve makes one call. The caller ends the state of the call.
func (p *Plugin) serve(ctx context.Context, in *guest.Instance, timeout time.Duration, f func(*guest.Instance) error, o *observed) error {
	in.Begin(p.booked(ctx), timeout, p.limits.Fuel)
	err := f(in)
	if in.Finish(ctx, err) {
		p.checkIdleSoon()
	}
	o.ran(in)
	return err
}

// queue waits for a processor before a call begins, if none is free. As with the wait for an
// instance, that time does not count for the call. A plugin whose last call failed always
// takes a processor first. Otherwise one that fails at once, again and again, would never
// reach the point where a call takes one.
func (p *Plugin) queue(ctx context.Context, in *guest.Instance) error {
	if !p.host.turns.Pressed() && !p.breakers.Troubled() || in.Call.Turn.Enter(p.limits.QueueTimeout, ctx.Done(), p.pool.Life().Done()) {
		return nil
	}
	switch {
	case ctx.Err() != nil:
		return guest.ContextFault(ctx)
	case p.pool.Life().Err() != nil:
		return errPluginClosed()
	}
	return &guest.Fault{Reason: abi.ReasonBusy, Remedy: "raise limits.queue_timeout, or make fewer calls at a time",
		Err: fmt.Errorf("other plugins had the processors for %v", p.limits.QueueTimeout)}
}

// takeBack returns an instance after a call. After a failed call it lets other goroutines run
// first. Whoever waits for the instance runs next on this processor, so calls that fail at
// once would otherwise keep the processor among themselves.
func (p *Plugin) takeBack(in *guest.Instance, good bool, o *observed) {
	in.Call.End()
	if !good {
		runtime.Gosched()
	}
	o.lap(nil)
	switch {
	case p.state != StateKeep:
		if in.ResetTook == 0 || in.ResetTook > guest.QuickReset {
			in.HandIn() // nobody borrows it until it is reset
		}
		p.pool.GiveBack(in)
	case good && !in.Worn():
		p.pool.Put(in)
	default:
		in.CountLost()
		p.pool.Discard(in)
	}
	o.lap(resetTime)
}

// borrow waits for an instance. Under StateKeep it is one that served no other tenant.
func (p *Plugin) borrow(ctx context.Context) (*guest.Instance, error) {
	if ctx.Err() != nil {
		return nil, guest.ContextFault(ctx)
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

// lent takes an instance from the pool. If the host has no room for even the plugin's first
// instance, it waits for room, except for a call within a call.
func (p *Plugin) lent(ctx context.Context) (*guest.Instance, error) {
	if n := guest.NestOf(ctx); n != nil {
		return p.lentWithin(ctx, n)
	}
	in, err := p.pool.Get(ctx, p.limits.QueueTimeout)
	if errors.Is(err, guest.ErrNoRoom) && !errors.Is(err, pool.ErrBusy) { // not even for the first one
		return p.makeInRoom(ctx, func() (*guest.Instance, error) { return p.pool.Get(ctx, p.limits.QueueTimeout) })
	}
	return in, err
}

// makeInRoom calls make again until the host has room for the instance, for at most
// Limits.QueueTimeout.
func (p *Plugin) makeInRoom(ctx context.Context, make func() (*guest.Instance, error)) (in *guest.Instance, err error) {
	err = p.host.room.Wait(ctx, p.limits.QueueTimeout, func() error {
		in, err = make()
		return err
	})
	return in, err
}

// notLent is the fault of a call that got no instance.
func (p *Plugin) notLent(ctx context.Context, err error) error {
	switch {
	case errors.Is(err, pool.ErrBusy):
		return p.busy(err)
	case errors.Is(err, ErrClosed):
		return errPluginClosed()
	case ctx.Err() != nil && errors.Is(err, ctx.Err()):
		return guest.ContextFault(ctx)
	}
	return err
}

// errPluginClosed is the fault of a call after [Plugin.Close].
func errPluginClosed() *guest.Fault {
	return &guest.Fault{Reason: abi.ReasonBusy, Err: errkind.As(ErrClosed, errors.New("the plugin is closed and takes no more calls")), Remedy: guest.NoRemedy}
}

// ownedBy returns in if it served nobody but the tenant of ctx, or else another instance in
// exchange. What an instance keeps must stay with one tenant.
func (p *Plugin) ownedBy(ctx context.Context, in *guest.Instance) (*guest.Instance, error) {
	tenant := TenantOf(ctx)
	if in.Tenant != tenant && in.Tenant != "" {
		own := func(in *guest.Instance) bool { return in.Tenant == tenant }
		fresh := func(in *guest.Instance) bool { return in.Tenant == "" }
		var err error
		if in, err = p.pool.Exchange(ctx, p.limits.QueueTimeout, in, own, fresh); err != nil {
			return nil, p.notLent(ctx, err)
		}
	}
	in.Tenant = tenant
	return in, nil
}

// busy is the fault of a call that no instance came free for. If no other could be made
// either, it has the remedy for that: raising the plugin's own limits would not help.
func (p *Plugin) busy(err error) *guest.Fault {
	var cause *PluginError
	if errors.As(err, &cause) {
		return &guest.Fault{Reason: abi.ReasonBusy, Remedy: cmp.Or(cause.Remedy, guest.NoRemedy),
			Err: fmt.Errorf("no instance came free within %v, and no other could be made: %s", p.limits.QueueTimeout, cause.Err.Error())}
	}
	return guest.Faultf(abi.ReasonBusy, "no instance came free within %v", p.limits.QueueTimeout)
}

// inStep sets the step of an error.
func (p *Plugin) inStep(e *PluginError, step string) *PluginError {
	e.Step = step
	return e
}

// maxNested is how deep calls may lie within other calls.
const maxNested = 4

// nestedWait is how long a call within a call waits before it checks again whether all
// instances are lent. Another call may have taken the one that was free.
const nestedWait = 5 * time.Millisecond

// lentWithin lends an instance to a call within a call. It refuses a call that lies too deep, and
// one that would wait while all instances are lent.
func (p *Plugin) lentWithin(ctx context.Context, n *guest.Nest) (*guest.Instance, error) {
	if n.Depth > maxNested {
		return nil, nestedTooDeep()
	}
	for began := guest.Clock(); !p.pool.Exhausted(); {
		in, err := p.pool.Get(ctx, min(nestedWait, p.limits.QueueTimeout))
		if !errors.Is(err, pool.ErrBusy) || guest.Clock()-began >= p.limits.QueueTimeout {
			return in, err
		}
	}
	return nil, guest.Faultf(abi.ReasonBusy, "no instance is free for a call within a call")
}

func nestedTooDeep() *guest.Fault {
	return &guest.Fault{Reason: abi.ReasonDenied, Remedy: guest.NoRemedy, Err: fmt.Errorf("plugin calls are nested more than %d deep", maxNested)}
}
