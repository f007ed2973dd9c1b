package host

import (
	"sync/atomic"
	"time"
)

// The stacks are not checked after each call: a check takes 2 µs, longer than a short call.
// Fuel does not show exactly which call filled a stack, because a few calls with very large
// frames fill one for little fuel. But deep recursion mostly costs fuel.
const (
	// tendCall is the fuel of a successful call after which the stacks are checked at once.
	tendCall = 1 << 19
	// tendFuel is what the other calls of an instance use together between two checks. Each
	// counts its fuel or its time in nanoseconds, whichever is more, because a call that
	// sleeps uses no fuel.
	tendFuel = 1 << 22
	// tendLeast is the least that a call counts.
	tendLeast = 1 << 10
	// tendIdleAfter is how long after a call the stacks of idle instances are checked. For at
	// most that long nothing is charged for what a call left on the stack of an idle instance.
	tendIdleAfter = 50 * time.Millisecond
)

// tendStacks checks the stacks from time to time. used is the fuel of the call that ended, and
// err how it ended. A call that used much or failed is followed by a check at once, because
// calls that fill a stack mostly fail.
func (in *instance) tendStacks(used int64, err error) {
	in.untended += max(used, tendLeast, int64(in.state.took()))
	if used >= tendCall || in.untended >= tendFuel || err != nil {
		in.tend()
		return
	}
	in.plugin.tendSoon()
}

// tend checks the stacks, if there was a call since the last check.
func (in *instance) tend() {
	if in.untended > 0 {
		in.untended = 0
		in.shedStacks()
	}
}

// tended is what a timer knows of a plugin: a pointer to it until it is closed. The runtime
// keeps even a stopped timer until its time, and a closed plugin must not be reachable from
// it.
type tended struct{ plugin atomic.Pointer[Plugin] }

// tendSoon starts the timer for checking idle instances, unless it runs already.
func (p *Plugin) tendSoon() {
	if !p.tending.Load() && p.tending.CompareAndSwap(false, true) {
		time.AfterFunc(tendIdleAfter, p.timed.tendIdle)
	}
}

func (t *tended) tendIdle() {
	if p := t.plugin.Load(); p != nil {
		p.tendIdle()
	}
}

// tendIdle checks the stacks of idle instances. If others are lent or being reset, it checks
// again later. After the plugin was closed there are none.
func (p *Plugin) tendIdle() {
	p.tending.Store(false)
	if !p.pool.Visit((*instance).tend) {
		p.tendSoon()
	}
}
