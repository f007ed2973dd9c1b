package host

import (
	"context"
	"math"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/host/internal/wasmbin"
)

// used is the fuel of the call so far: what the guest used, and what the host and the
// kernel used on its behalf.
func (c *callState) used() int64 {
	return c.drawn - c.inst.fuelLeft() + c.hosted + c.inst.kernel.Debt()
}

// spend charges the call for work of the host, before or right after the work, and for the
// work of the kernel. When a slice is used up, it makes the same checks as tick.
func (c *callState) spend(units int64) {
	units += c.inst.kernel.Debt()
	c.inst.kernel.Settle()
	c.hosted += units
	c.unchecked += units
	if c.unchecked < wasmbin.DefaultSlice {
		return
	}
	c.unchecked = 0
	c.stop()
	c.share()
	c.stopSpent()
}

// stopSpent returns the fuel used, and panics if the fuel of the call is used up.
func (c *callState) stopSpent() int64 {
	used := c.used()
	if used >= c.fuel {
		panic(faultf(abi.ReasonFuel, "executed %d units of fuel, allowed %d", used, c.fuel))
	}
	return used
}

// tick is what a metered guest calls when its slice of fuel is used up. It returns the next
// slice.
func tick(ctx context.Context, stack []uint64) {
	c := stateOf(ctx)
	c.stop()
	c.share()
	if err := c.inst.observe(); err != nil {
		panic(err)
	}
	used := c.stopSpent()
	next := min(c.inst.fuelOwed()+wasmbin.DefaultSlice, c.fuel-used)
	c.drawn += next
	stack[0] = uint64(next)
}

// fuelLeft is how much of the fuel that they drew the guest and its links have not used. It
// is negative if the last operation cost more than was left.
func (in *instance) fuelLeft() int64 {
	left := int64(0)
	if in.fuel != nil { // it is nil during the start section
		left = int64(in.fuel.Get())
	}
	for _, m := range in.members {
		if m.fuel != nil {
			left += int64(m.fuel.Get())
		}
	}
	return left
}

// fuelOwed is the sum of what the fuel counters are below zero.
func (in *instance) fuelOwed() int64 {
	owed := int64(0)
	if in.fuel != nil {
		owed = max(0, -int64(in.fuel.Get()))
	}
	for _, m := range in.members {
		if m.fuel != nil {
			owed += max(0, -int64(m.fuel.Get()))
		}
	}
	return owed
}

// fuelUsed is the fuel of the current or last call.
func (in *instance) fuelUsed() int64 {
	return max(0, in.state.used())
}

// saturate multiplies without overflow.
func saturate(v int64, factor float64) int64 {
	if f := float64(v) * factor; f < math.MaxInt64 {
		return int64(f)
	}
	return math.MaxInt64
}
