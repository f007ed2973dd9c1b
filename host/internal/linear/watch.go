package linear

import "runtime"

// Watch tells whether code that runs on one goroutine has page faults. A page that a
// memory shares with its image is written by way of a fault, whether by the guest, by Go
// or by the kernel in a system call, and the kernel counts faults by thread: where there
// was none, no page was written but those that were before.
type Watch struct {
	on     bool
	faults int64
}

// Begin keeps the goroutine on its thread and begins to watch it.
func (w *Watch) Begin() {
	runtime.LockOSThread()
	w.on, w.faults = true, faults()
}

// End lets the goroutine go again, and reports whether it was watched until then and had
// no fault. The goroutine must be the one that began.
func (w *Watch) End() (quiet bool) {
	if !w.on {
		return false
	}
	quiet = w.faults >= 0 && faults() == w.faults
	w.on = false
	runtime.UnlockOSThread()
	return quiet
}
