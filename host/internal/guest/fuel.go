package guest

import (
	"context"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/host/internal/wasmbin"
)

// used is the fuel of the call so far: what the guest used, and what the host and the
// kernel used on its behalf.
func (c *Call) used() int64 {
	return c.drawn - c.Instance.fuelLeft() + c.hosted + c.Instance.Extism.Kernel.Debt()
}

// Spend charges the call for work of the host, before or right after the work, and for the
// work of the kernel. When a slice is used up, it makes the same checks as tick.
func (c *Call) Spend(units int64) {
	units += c.Instance.Extism.Kernel.Debt()
	c.Instance.Extism.Kernel.Settle()
	c.hosted += units
	c.unchecked += units
	if c.unchecked < wasmbin.DefaultSlice {
		return
	}
	c.unchecked = 0
	c.Stop()
	c.share()
	c.stopSpent()
}

// stopSpent returns the fuel used, and panics if the fuel of the call is used up.
func (c *Call) stopSpent() int64 {
	used := c.used()
	if used >= c.Fuel {
		panic(Faultf(abi.ReasonFuel, "executed %d units of fuel, allowed %d", used, c.Fuel))
	}
	return used
}

// Tick is what a metered guest calls when its slice of fuel is used up. It returns the next
// slice.
func Tick(ctx context.Context, stack []uint64) {
	c := CallOf(ctx)
	c.Stop()
	c.share()
	if err := c.Instance.observe(); err != nil {
		panic(err)
	}
	used := c.stopSpent()
	next := min(c.Instance.fuelOwed()+wasmbin.DefaultSlice, c.Fuel-used)
	c.drawn += next
	stack[0] = uint64(next)
}

// fuelLeft is how much of the fuel that they drew the guest and its links have not used. It
// is negative if the last operation cost more than was left.
func (in *Instance) fuelLeft() int64 {
	left := int64(0)
	if in.Guest.fuel != nil { // it is nil during the start section
		left = int64(in.Guest.fuel.Get())
	}
	for _, m := range in.members {
		if m.fuel != nil {
			left += int64(m.fuel.Get())
		}
	}
	return left
}

// fuelOwed is the sum of what the fuel counters are below zero.
func (in *Instance) fuelOwed() int64 {
	owed := int64(0)
	if in.Guest.fuel != nil {
		owed = max(0, -int64(in.Guest.fuel.Get()))
	}
	for _, m := range in.members {
		if m.fuel != nil {
			owed += max(0, -int64(m.fuel.Get()))
		}
	}
	return owed
}

// FuelUsed is the fuel of the current or last call.
func (in *Instance) FuelUsed() int64 {
	return max(0, in.Call.used())
}
