package host

import (
	"os"
	"strings"
	"sync"
	"time"

	"github.com/anchor-host/anchor-host/abi"
)

// clockStart is when the program began.
var clockStart = time.Now()

// clock is the time since then. Deadlines of calls are kept by it, as it takes
// half of what time.Now does: that reads the wall clock beside.
func clock() time.Duration { return time.Since(clockStart) }

// bootID identifies the time since the system was started: the stopwatch of guests goes
// on in all processes that have the same. It is "" where the system does not say. Tests
// replace it.
var bootID = sync.OnceValue(func() string {
	id, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	space, _ := os.Readlink("/proc/self/ns/time") // containers may have a stopwatch of their own
	return strings.TrimSpace(string(id)) + " " + space
})

// walltime is the wall clock of the guest. What was made of the time of day is old in the
// next process; a timeless init makes nothing of it.
func (in *instance) walltime() (int64, int32) {
	if m := in.plugin.spec.Manifest; m == nil || !m.Operations[abi.OpInit].Timeless {
		in.outside = true
	}
	t := time.Now()
	return t.Unix(), int32(t.Nanosecond())
}

// nanotime is the stopwatch of the guest where it may begin anew in the next process.
func (in *instance) nanotime() int64 {
	in.outside = true
	return int64(clock())
}
