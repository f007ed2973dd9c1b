package host

import (
	"context"
	"time"
)

// tally is what an instance counted that its owner does not know yet. The owner of the
// instance adds to it as to any other field; to add to what all processors share costs more
// than a short call may.
type tally struct {
	ok, fuel, in, out, resets int64
	took                      time.Duration
	// handed is when the plugin was last given what there was.
	handed time.Duration
}

// tallyFor is for how long an instance keeps what it counted to itself while it is called.
const tallyFor = time.Millisecond

// finish charges and counts a call that ended, with err if it failed, and notes whether the
// instance can serve again. It reports whether the stacks are still to be checked, which is due
// when the instance has been idle for a while.
func (in *instance) finish(ctx context.Context, err error) (checkStacks bool) {
	used := in.fuelUsed()
	checkStacks = in.countForStacks(used, err)
	chargeFuel(ctx, used)
	in.calls++
	in.unusable = !in.resettable(err)
	in.countCall(used, err)
	return checkStacks
}

// countCall counts a call that ended, with err if it failed.
func (in *instance) countCall(used int64, err error) {
	c := &in.state
	t := &c.tally
	if err == nil {
		t.ok++
	} else {
		c.seen = clock() // nobody looked when the guest stopped
	}
	t.fuel += used
	t.took += c.took() - c.waited
	t.in += c.received
	t.out += c.returned
	if err != nil || in.ofSession || c.seen-t.handed >= tallyFor {
		in.handIn()
	}
}

// countLost counts an instance that does not serve again after a call.
func (in *instance) countLost() {
	if !in.unusable && in.worn() {
		in.env.owner.Count(instanceRecycled)
		return
	}
	in.env.owner.Count(instanceReplaced)
}

// handIn gives the owner what the instance counted.
func (in *instance) handIn() {
	in.env.owner.Add(&in.state.tally)
	in.state.tally = tally{handed: in.state.seen}
}
