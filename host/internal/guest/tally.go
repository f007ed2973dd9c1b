package guest

import (
	"context"
	"time"
)

// tallyFor is for how long an instance keeps what it counted to itself while it is called.
const tallyFor = time.Millisecond

// Finish charges and counts a call that ended, with err if it failed, and notes whether the
// instance can serve again. It reports whether the stacks are still to be checked, which is due
// when the instance has been idle for a while.
func (in *Instance) Finish(ctx context.Context, err error) (checkStacks bool) {
	used := in.FuelUsed()
	checkStacks = in.Stacks.countForStacks(used, in.Call.Took(), err)
	ChargeFuel(ctx, used)
	in.Life.calls++
	in.Life.Unusable = !in.resettable(err)
	in.CountCall(used, err)
	return checkStacks
}

// CountCall counts a call that ended, with err if it failed.
func (in *Instance) CountCall(used int64, err error) {
	c := &in.Call
	t := &c.tally
	if err == nil {
		t.OK++
	} else {
		c.seen = Clock() // nobody looked when the guest stopped
	}
	t.Fuel += used
	t.Took += c.Took() - c.Waited
	t.In += c.Received
	t.Out += c.Returned
	if err != nil || in.ofSession || c.seen-t.handed >= tallyFor {
		in.HandIn()
	}
}

// CountLost counts an instance that does not serve again after a call.
func (in *Instance) CountLost() {
	if !in.Life.Unusable && in.Worn() {
		in.Env.Owner.Count(Recycled)
		return
	}
	in.Env.Owner.Count(Replaced)
}

// HandIn gives the owner what the instance counted.
func (in *Instance) HandIn() {
	in.Env.Owner.Add(&in.Call.tally)
	in.Call.tally = Tally{handed: in.Call.seen}
}
