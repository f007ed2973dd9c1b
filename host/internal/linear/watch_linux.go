//go:build linux && (amd64 || arm64 || riscv64 || loong64)

package linear

import "syscall"

// Tracked reports whether Restore gains by being told that no page was written.
func (m *Memory) Tracked() bool { return m.track != nil && m.track.counts && m.track.known != nil }

// faults is the number of page faults of this thread, -1 where the system does not say.
func faults() int64 {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_THREAD, &u) != nil {
		return -1
	}
	return u.Minflt + u.Majflt
}

// thread is the number of this thread.
func thread() int { return syscall.Gettid() }
