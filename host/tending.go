package host

import (
	"sync/atomic"
	"time"
)

// What calls left on the stacks is not looked at after each of them: that takes 2 µs,
// longer than a short call, and frames of the largest kind fill a stack for so little
// fuel that no count of it tells which call did. But deep recursion mostly costs fuel.
const (
	// tendCall is what a call that ends well uses when the stacks are looked at after it.
	tendCall = 1 << 19
	// tendFuel is what others of an instance use together between two looks, in units of
	// fuel or in nanoseconds, whichever are more in a call: who sleeps uses none.
	tendFuel = 1 << 22
	// tendLeast is what any call counts for.
	tendLeast = 1 << 10
	// tendIdleAfter is how long after a call the stacks of idle instances are looked at,
	// and so the longest that an idle one holds on nobody's account what a call left.
	tendIdleAfter = 50 * time.Millisecond
)

// tendStacks is told what fuel a call used and how it ended. It looks at the stacks from
// time to time, after a call that used much, and after one that failed, as those that fill
// a stack mostly do.
func (in *instance) tendStacks(used int64, err error) {
	in.untended += max(used, tendLeast, int64(in.state.took()))
	if used >= tendCall || in.untended >= tendFuel || err != nil {
		in.tend()
		return
	}
	in.plugin.tendSoon()
}

// tend looks at the stacks.
func (in *instance) tend() {
	if in.untended > 0 {
		in.untended = 0
		in.shedStacks()
	}
}

// tended is what a timer knows of a plugin: where it is, until it is closed. The runtime
// holds even a timer that was stopped until its time, and the collector must not find a
// closed plugin by it.
type tended struct{ plugin atomic.Pointer[Plugin] }

// tendSoon has the stacks of idle instances looked at, if that is not about to be done.
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

// tendIdle looks at the stacks of idle instances, and again later if others are lent, on
// their way back or about to be reset. After the plugin was closed it finds none.
func (p *Plugin) tendIdle() {
	p.tending.Store(false)
	if !p.pool.visit((*instance).tend) {
		p.tendSoon()
	}
}
