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
	"github.com/anchor-host/anchor-host/host/internal/pool"
)

// with lends an instance to f for one call of op. Under StateKeep the instance is closed
// afterwards if the call failed or the instance is worn out. Otherwise it is reset or replaced
// before the next call.
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
		if err = p.queue(ctx, in); err != nil {
			p.pool.Put(in)
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
	in.unusable = true // until the call has ended well
	good := false
	defer func() { p.takeBack(in, good, o) }()
	if err = p.serve(ctx, in, timeout, f, o); err != nil {
		failed = p.inStep(p.failure(op, in, err), step)
		ended = outcome(in, failed)
		return failed
	}
	good, ended = true, fairness.Good
	return nil
}

// serve makes one call. The caller ends the state of the call.
func (p *Plugin) serve(ctx context.Context, in *instance, timeout time.Duration, f func(*instance) error, o *observed) error {
	in.begin(ctx, timeout, p.limits.Fuel)
	err := f(in)
	if in.finish(ctx, err) {
		p.checkIdleSoon()
	}
	if o != nil {
		o.ran(in)
	}
	return err
}

// queue waits for a processor before a call begins, if none is free. As with the wait for an
// instance, that time does not count for the call. A plugin whose last call failed always
// takes a processor first. Otherwise one that fails at once, again and again, would never
// reach the point where a call takes one.
func (p *Plugin) queue(ctx context.Context, in *instance) error {
	if !p.host.turns.Pressed() && !p.rests.Troubled() || in.state.turn.Enter(p.limits.QueueTimeout, ctx.Done(), p.pool.Life().Done()) {
		return nil
	}
	switch {
	case ctx.Err() != nil:
		return contextFault(ctx)
	case p.pool.Life().Err() != nil:
		return errPluginClosed()
	}
	return &fault{code: abi.ReasonBusy, remedy: "raise limits.queue_timeout, or make fewer calls at a time",
		err: fmt.Errorf("other plugins had the processors for %v", p.limits.QueueTimeout)}
}

// takeBack returns an instance after a call. After a failed call it lets other goroutines run
// first. Whoever waits for the instance runs next on this processor, so calls that fail at
// once would otherwise keep the processor among themselves.
func (p *Plugin) takeBack(in *instance, good bool, o *observed) {
	in.state.end()
	if !good {
		runtime.Gosched()
	}
	if o != nil {
		o.lap()
	}
	switch {
	case p.state != StateKeep:
		if in.resetTook == 0 || in.resetTook > quickReset {
			in.handIn() // nobody borrows it until it is reset
		}
		p.pool.GiveBack(in)
	case good && !in.worn():
		p.pool.Put(in)
	default:
		in.countLost()
		p.pool.Discard(in)
	}
	if o != nil {
		o.Reset = o.lap()
	}
}

// borrow waits for an instance. Under StateKeep it is one that served no other tenant.
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

// lent takes an instance from the pool. If the host has no room for even the plugin's first
// instance, it waits for room, except for a call within a call.
func (p *Plugin) lent(ctx context.Context) (*instance, error) {
	if n := nestOf(ctx); n != nil {
		return p.lentWithin(ctx, n)
	}
	in, err := p.pool.Get(ctx, p.limits.QueueTimeout)
	if errors.Is(err, errNoRoom) && !errors.Is(err, pool.ErrBusy) { // not even for the first one
		return p.makeInRoom(ctx, func() (*instance, error) { return p.pool.Get(ctx, p.limits.QueueTimeout) })
	}
	return in, err
}

// makeInRoom calls make again until the host has room for the instance, for at most
// Limits.QueueTimeout.
func (p *Plugin) makeInRoom(ctx context.Context, make func() (*instance, error)) (in *instance, err error) {
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
		return contextFault(ctx)
	}
	return err
}

// errPluginClosed is the fault of a call after [Plugin.Close].
func errPluginClosed() *fault {
	return &fault{code: abi.ReasonBusy, err: as(ErrClosed, errors.New("the plugin is closed and takes no more calls")), remedy: noRemedy}
}

// ownedBy returns in if it served nobody but the tenant of ctx, or else another instance in
// exchange. What an instance keeps must stay with one tenant.
func (p *Plugin) ownedBy(ctx context.Context, in *instance) (*instance, error) {
	tenant := tenantOf(ctx)
	if in.tenant != tenant && in.tenant != "" {
		own := func(in *instance) bool { return in.tenant == tenant }
		fresh := func(in *instance) bool { return in.tenant == "" }
		var err error
		if in, err = p.pool.Exchange(ctx, p.limits.QueueTimeout, in, own, fresh); err != nil {
			return nil, p.notLent(ctx, err)
		}
	}
	in.tenant = tenant
	return in, nil
}

// busy is the fault of a call that no instance came free for. If no other could be made
// either, it has the remedy for that: raising the plugin's own limits would not help.
func (p *Plugin) busy(err error) *fault {
	var cause *PluginError
	if errors.As(err, &cause) {
		return &fault{code: abi.ReasonBusy, remedy: cmp.Or(cause.Remedy, noRemedy),
			err: fmt.Errorf("no instance came free within %v, and no other could be made: %s", p.limits.QueueTimeout, cause.Err.Error())}
	}
	return faultf(abi.ReasonBusy, "no instance came free within %v", p.limits.QueueTimeout)
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
func (p *Plugin) lentWithin(ctx context.Context, n *nest) (*instance, error) {
	if n.depth > maxNested {
		return nil, nestedTooDeep()
	}
	for began := clock(); !p.pool.Exhausted(); {
		in, err := p.pool.Get(ctx, min(nestedWait, p.limits.QueueTimeout))
		if !errors.Is(err, pool.ErrBusy) || clock()-began >= p.limits.QueueTimeout {
			return in, err
		}
	}
	return nil, faultf(abi.ReasonBusy, "no instance is free for a call within a call")
}

func nestedTooDeep() *fault {
	return &fault{code: abi.ReasonDenied, remedy: noRemedy, err: fmt.Errorf("the call lies more than %d deep within others", maxNested)}
}
