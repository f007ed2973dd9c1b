//go:build wasip1 && !tinygo

package mem

import "runtime"

// A look at the heap takes as long as several small calls. The next one comes when
// the calls will have left about lookAfter bytes of garbage, by what those before
// it have left, within a number of calls that finds a change of habit in time.
const (
	lookAfter             = 1 << 20
	leastCalls, mostCalls = 32, 256
)

var (
	calls, next uint64 = 0, leastCalls
	allocated   uint64
	stats       runtime.MemStats
)

// Collect runs the garbage collector when its own schedule has failed. Go's
// background collection advances by the clock, and a guest runs only while it
// is called: under a clock that jumps with each reading, as embedders of wazero
// have by default, a collection can stay unfinished for good.
func Collect() {
	calls++
	if calls < next {
		return
	}
	runtime.ReadMemStats(&stats)
	perCall := max(1, (stats.TotalAlloc-allocated)/calls)
	next, calls, allocated = min(max(lookAfter/perCall, leastCalls), mostCalls), 0, stats.TotalAlloc
	if stats.HeapAlloc > 2*stats.NextGC {
		runtime.GC()
	}
}
