package host

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/anchor-host/anchor-host/abi"
)

// At most as many guests run at once as there are processors. A call that runs longer than
// a moment takes one, and gives it to a plugin that used less lately when it comes to the
// host for fuel; see package fairness. While it blocks it has none, so that nobody waits
// for a server, a disk or an embedder's function, and calls within calls need no other's.

// queue waits for a processor before a call begins, if none is free: as with an instance,
// that time is not the call's. A plugin that failed last takes one in any case: failing
// again and again in a moment, it would never come to the place where it has to.
func (in *instance) queue(ctx context.Context) error {
	p := in.plugin
	if !p.host.turns.Pressed() && !p.rests.Troubled() || in.state.turn.Enter(p.limits.QueueTimeout, ctx.Done(), p.pool.life.Done()) {
		return nil
	}
	switch {
	case ctx.Err() != nil:
		return contextFault(ctx)
	case p.pool.life.Err() != nil:
		return errPluginClosed()
	}
	return &fault{code: abi.ReasonBusy, remedy: "raise limits.queue_timeout, or make fewer calls at a time",
		err: fmt.Errorf("other plugins had the processors for %v", p.limits.QueueTimeout)}
}

// share lets others have the processor at a safe point of the call, right after the clock
// was read.
func (c *callState) share() {
	if c.turn.Due(c.seen) && c.turn.Yields(c.seen, c.work()) {
		c.await()
	}
}

// yield is share for work of the host on behalf of the call, outside of the guest. It
// returns the fault of a call whose time is over.
func (c *callState) yield() *fault {
	if c.turn.Due(c.seen) && c.turn.Yields(c.seen, c.work()) {
		c.awaitTurn()
		return c.check()
	}
	return nil
}

// unitTime is more than a unit of fuel takes, also where it has the kernel find a page.
const unitTime = 50 * time.Nanosecond

// work is the time that the call can have taken until now at most, had it never been
// interrupted.
func (c *callState) work() time.Duration {
	return unitTime * time.Duration(min(c.used(), math.MaxInt64/int64(unitTime)))
}

// leave gives the processor back before something that may block.
func (c *callState) leave() {
	c.inst.unwatch()
	c.turn.Pause(c.work())
}

// rejoin takes a processor again after that. The call ends if its time is over.
func (c *callState) rejoin() {
	c.stop()
	if c.turn.Resume() {
		c.await()
	}
}

// await waits for a processor, at most until the call's time is over: then the call ends.
func (c *callState) await() {
	c.awaitTurn()
	c.stop()
}

// awaitTurn waits for a processor and notes for how long.
func (c *callState) awaitTurn() {
	c.inst.unwatch()
	began := clock()
	c.turn.Wait(max(0, c.deadline-began), c.done, nil)
	c.waited += clock() - began
}
