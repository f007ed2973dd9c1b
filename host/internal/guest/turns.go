package guest

import (
	"math"
	"time"
)

// At most as many guests run at once as there are processors. A call that runs longer than
// fairness.Grace takes a processor. When it draws fuel from the host, it hands its processor
// to a plugin that used less lately, if one waits; see package fairness. While it blocks it
// has no processor, so nobody waits for a server, a disk or a function of the embedder, and
// calls within calls need no other call's processor.

// share lets others have the processor at a safe point of the call, right after the clock was
// read.
func (c *Call) share() {
	if c.Turn.Due(c.seen) && c.Turn.Yields(c.seen, c.work()) {
		c.await()
	}
}

// yield is share for work of the host on behalf of the call, outside of the guest. It returns
// the fault of a call whose time is over.
func (c *Call) yield() *Fault {
	if c.Turn.Due(c.seen) && c.Turn.Yields(c.seen, c.work()) {
		c.awaitTurn()
		return c.check()
	}
	return nil
}

// unitTime is more time than a unit of fuel takes, even if the operating system must provide a
// page for it.
const unitTime = 50 * time.Nanosecond

// work is the most processor time that the call can have used so far.
func (c *Call) work() time.Duration {
	return unitTime * time.Duration(min(c.used(), math.MaxInt64/int64(unitTime)))
}

// Leave gives the processor back before the call may block.
func (c *Call) Leave() {
	c.Turn.Pause(c.work())
}

// Rejoin takes a processor again after leave. It ends a call whose time is over.
func (c *Call) Rejoin() {
	c.Stop()
	if c.Turn.Resume() {
		c.await()
	}
}

// Away runs f while others have the processor. The call ends if its time is over then.
func (c *Call) Away(f func()) {
	c.Leave()
	f()
	c.Rejoin()
}

// await waits for a processor until the call's time is over, and then ends the call.
func (c *Call) await() {
	c.awaitTurn()
	c.Stop()
}

// awaitTurn waits for a processor and notes for how long.
func (c *Call) awaitTurn() {
	began := Clock()
	c.Turn.Wait(max(0, c.deadline-began), c.done, nil)
	c.Waited += Clock() - began
}
