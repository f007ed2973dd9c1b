//go:build unix

package meter

import (
	"syscall"
	"time"
)

// processorTime is what the process has used of its processors.
func processorTime() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u) // of its own process it never fails
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
