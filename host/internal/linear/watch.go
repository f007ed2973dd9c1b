package linear

import (
	"runtime"
	"time"
)

// Watch tells whether code that runs on one goroutine has page faults. A page that a
// memory shares with its image is written by way of a fault, whether by the guest, by Go
// or by the kernel in a system call, and the kernel counts faults by thread: where there
// was none, no page was written but those that were before.
//
// To ask for the count costs more the more threads do: the kernel counts the users of the
// memory that they share each time. So a count serves the watch after the one at whose end
// it was taken too, if that is soon and on the same thread. A fault between the two then
// counts for the second.
type Watch struct {
	on bool
	// thread had that many faults when the clock stood at at, or later.
	thread int
	faults int64
	at     time.Duration
}

// countsFor is how long a count is used. A thread may end, and another one get its number;
// the numbers do not come round in such a time.
const countsFor = 10 * time.Millisecond

// Begin keeps the goroutine on its thread and begins to watch it. now is the time of a
// clock that goes on steadily.
func (w *Watch) Begin(now time.Duration) {
	runtime.LockOSThread()
	w.on = true
	if t := thread(); t != w.thread || now-w.at >= countsFor {
		w.thread, w.faults = t, faults()
	}
}

// End lets the goroutine go again, and reports whether it was watched until then and had
// no fault. The goroutine must be the one that began. now is a time of the same clock that
// is not after the call of End.
func (w *Watch) End(now time.Duration) (quiet bool) {
	if !w.on {
		return false
	}
	n := faults()
	quiet = n >= 0 && n == w.faults
	w.on, w.faults, w.at = false, n, now
	runtime.UnlockOSThread()
	return quiet
}
