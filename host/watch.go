package host

import "time"

// A reset asks the system which pages of a memory were written, which takes as long as
// all else about it. It need not after a call that had no page fault: such a call wrote
// only pages that calls before it wrote, too. Whatever writes to the memories of an
// instance does so on the goroutine of its call, be it the guest, wazero or this package.
// Therefore that goroutine is kept on its thread, where faults are counted.
//
// A thread that waits serves nobody else, and a call that takes long gains little. So a
// call is watched for a short time, or until a host function begins that may wait or that
// is not of this package.

// watchMost is about how long a call is watched at most.
const watchMost = time.Millisecond

// watch begins to watch a call that has just begun, where the reset after it can make
// use of that.
func (in *instance) watch() {
	if !in.lin.Tracked() {
		return
	}
	for _, m := range in.members {
		if m.mem != nil && !m.borrowed && !m.lin.Tracked() {
			return
		}
	}
	in.watching.Begin(in.state.began)
}

// unwatch ends that, and reports whether there was no page fault until now. What is not
// watched to its end is not known to have had none.
func (in *instance) unwatch() (quiet bool) { return in.watching.End(in.state.seen) }

// yieldAfter is how often callers let the scheduler run between two calls. Else it stops
// those who run for 10 ms where they are, mostly within a call: a goroutine that is kept
// on its thread goes on only when another thread was woken and has woken its own.
const yieldAfter = 4 * time.Millisecond

// due reports whether it is time for that, as of the end of a call.
func (in *instance) due() bool {
	if in.state.seen-in.yielded < yieldAfter {
		return false
	}
	in.yielded = in.state.seen
	return true
}
