//go:build wasip1 && !tinygo

package mem

import "runtime"

// checkEvery is the number of calls between two looks at the heap: often enough
// for guests with much garbage, seldom enough to cost nothing.
const checkEvery = 32

var (
	calls uint32
	stats runtime.MemStats
)

// Collect runs the garbage collector when its own schedule has failed. Go's
// background collection advances by the clock, and a guest runs only while it
// is called: under a clock that jumps with each reading, as embedders of wazero
// have by default, a collection can stay unfinished for good.
func Collect() {
	calls++
	if calls%checkEvery != 0 {
		return
	}
	runtime.ReadMemStats(&stats)
	if stats.HeapAlloc > 2*stats.NextGC {
		runtime.GC()
	}
}
