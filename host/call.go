package host

import (
	"context"
	"runtime"
	"time"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/host/internal/fairness"
	"github.com/anchor-host/anchor-host/host/internal/guest"
)

// call is one call of a plugin.
type call struct {
	// op and step are what errors name.
	op   abi.Operation
	step string
	// timeout is the time that the guest has.
	timeout time.Duration
	// from lends the instance.
	from lender
}

// lender lends an instance for one call.
type lender interface {
	lend(ctx context.Context) (*guest.Instance, error)
	// takeBack gets the instance back.
	takeBack(in *guest.Instance, how ending)
}

// ending is how a call ended.
type ending struct {
	// called says that the guest was called.
	called bool
	// outcome is what the call means for the plugin's rest. It stays neutral if a function of the
	// embedder ends the goroutine.
	outcome fairness.Outcome
	failed  *PluginError
}

// good reports whether the call ended well.
func (e *ending) good() bool { return e.failed == nil && e.outcome == fairness.Good }

// do makes a call. It is the only way into a guest, except for what Load runs: it refuses calls of a
// paused plugin, borrows an instance, waits for a processor, bounds and counts the call, judges how
// it ended, and gives the instance back. use calls the guest, and judges what it answers. r takes over
// the charge for what use decoded. It may be nil. Errors are a *[PluginError].
func (p *Plugin) do(ctx context.Context, c call, r *guest.Receipt, use func(*guest.Instance) error) error {
	ctx, o := p.setup.observe(ctx, c.op, c.step)
	probe, err := p.lending.admit(ctx)
	if err != nil {
		failed := p.setup.failed(c, nil, err)
		p.ended(ctx, o, failed)
		return failed
	}
	var how ending
	defer func() {
		p.lending.judge(ctx, probe, how.outcome, how.failed)
		if how.failed != nil || how.good() {
			p.ended(ctx, o, how.failed)
		}
	}()
	timed := guest.Watch(ctx)
	in, err := p.borrow(ctx, c.from, o)
	if err != nil {
		timed.Stop(nil)
		how.failed = p.setup.failed(c, nil, err)
		if _, ofPool := c.from.(*lending); ofPool { // what a session refuses says nothing about the plugin
			how.outcome = outcome(nil, how.failed)
		}
		p.recorded(ctx, nil, c, how.failed)
		return how.failed
	}
	defer func() {
		r.Take(in)
		in.Call.End()
		o.lap(nil)
		c.from.takeBack(in, how)
		o.lap(resetTime)
	}()
	how.called = true
	in.Call.Op, in.Life.Unusable = c.op, true // unusable until the call has ended well
	in.Begin(p.setup.booked(ctx), c.timeout, p.setup.limits.Fuel)
	err = use(in)
	if in.Finish(ctx, err) {
		p.lending.checkIdleSoon()
	}
	o.ran(in)
	timed.Stop(in)
	if err != nil {
		how.failed = p.setup.failed(c, in, err)
		how.outcome = outcome(in, how.failed)
		p.recorded(ctx, in, c, how.failed)
		return how.failed
	}
	p.recorded(ctx, in, c, nil)
	how.outcome = fairness.Good
	return nil
}

// borrow borrows an instance, and waits for a processor.
func (p *Plugin) borrow(ctx context.Context, from lender, o *observed) (*guest.Instance, error) {
	in, err := from.lend(ctx)
	o.lap(instanceWait)
	if err != nil {
		return nil, err
	}
	if err = p.lending.queue(ctx, in); err != nil {
		from.takeBack(in, ending{})
		o.lap(processorWait)
	}
	return in, err
}

// failed is the error of a call. in is nil if the guest was not called.
func (set *setup) failed(c call, in *guest.Instance, err error) *PluginError {
	e := set.failure(c.op, in, err)
	e.Step = c.step
	return e
}

// lend implements lender with an instance of the pool. Under StateKeep it is one that served no
// other tenant.
func (l *lending) lend(ctx context.Context) (*guest.Instance, error) {
	if ctx.Err() != nil {
		return nil, guest.ContextFault(ctx)
	}
	if err := l.checkFolders(); err != nil {
		return nil, err
	}
	in, err := l.lent(ctx)
	if err != nil {
		return nil, l.notLent(ctx, err)
	}
	if l.setup.state == StateKeep {
		return l.ownedBy(ctx, in)
	}
	return in, nil
}

// takeBack implements lender. Under StateKeep the instance is closed if the call failed or the
// instance is worn out. Otherwise it is reset or replaced before the next call. After a failed call
// takeBack lets other goroutines run first. Whoever waits for the instance runs next on this
// processor, so calls that fail at once would otherwise keep the processor among themselves.
func (l *lending) takeBack(in *guest.Instance, how ending) {
	if how.called && !how.good() {
		runtime.Gosched()
	}
	switch {
	case !how.called:
		l.pool.Put(in)
	case l.setup.state != StateKeep:
		if in.Life.ResetTook == 0 || in.Life.ResetTook > guest.QuickReset {
			in.HandIn() // nobody borrows it until it is reset
		}
		l.pool.GiveBack(in)
	case how.good() && !in.Worn():
		l.pool.Put(in)
	default:
		l.sayLost(how)
		in.CountLost()
		l.pool.Discard(in)
	}
}

// sayLost logs that an instance under StateKeep ends, and what it kept with it.
func (l *lending) sayLost(how ending) {
	reason := "its memory has grown by three quarters of what limits.memory leaves, or it has served for long"
	if !how.good() {
		reason = "the call failed"
	}
	if unsaid, due := l.lost.Due(how.good(), time.Now()); due {
		l.setup.log.Warn("what the plugin kept of earlier calls is lost: the next call gets a new instance (keep it with kv, or in a folder)",
			"reason", reason, "not_logged", unsaid)
	}
}
