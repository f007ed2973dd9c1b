//go:build wasip1 && !tinygo

package mem

import "runtime"

// Reading the statistics of the heap takes as long as several small calls. Collect therefore
// reads them only after a number of calls that it estimates: the calls that produce about
// checkAfter bytes of garbage, if they allocate as much as the calls before them. The number
// is between leastCalls and mostCalls, so that Collect soon notices when calls begin to
// allocate more.
const (
	checkAfter            = 1 << 20
	leastCalls, mostCalls = 32, 256
)

var (
	calls, next uint64 = 0, leastCalls
	allocated   uint64
	stats       runtime.MemStats
)

// Collect runs the garbage collector when the schedule of Go has failed. Go's background
// collection advances with the clock, and a guest runs only while it is called. By default,
// embedders of wazero have a clock that jumps with each reading; with such a clock a
// collection may never finish.
func Collect() {
	calls++
	if calls < next {
		return
	}
	runtime.ReadMemStats(&stats)
	perCall := max(1, (stats.TotalAlloc-allocated)/calls)
	next, calls, allocated = min(max(checkAfter/perCall, leastCalls), mostCalls), 0, stats.TotalAlloc
	if stats.HeapAlloc > 2*stats.NextGC {
		runtime.GC()
	}
}
