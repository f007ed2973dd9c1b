package host

import (
	"os"
	"strings"
	"sync"
	"time"

	"github.com/anchor-host/anchor-host/abi"
)

// bootID identifies the start of the system. The guest's monotonic clock goes on in every
// process that sees the same bootID. It is "" if the system does not tell. Tests replace
// it.
var bootID = sync.OnceValue(func() string {
	id, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	space, _ := os.Readlink("/proc/self/ns/time") // a container may have its own monotonic clock
	return strings.TrimSpace(string(id)) + " " + space
})

// walltime is the wall clock of the guest. What init derives from the time of day is out of
// date in the next process, so its image is not kept on disk unless init is timeless.
func (in *wasi) walltime() (int64, int32) {
	if m := in.plugin.spec.Manifest; m == nil || !m.Operations[abi.OpInit].Timeless {
		in.outside = true
	}
	t := time.Now()
	return t.Unix(), int32(t.Nanosecond())
}

// nanotime is the monotonic clock of the guest on systems without a bootID, where it may
// start anew in the next process.
func (in *wasi) nanotime() int64 {
	in.outside = true
	return int64(clock())
}
