package main

import (
	"bytes"
	"os"
	"strconv"
	"syscall"
	"time"
)

// cpuTime returns the processor time of this process, including the garbage collector.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// resetPeak makes the process forget how large it has been. Where that is not allowed, peaks include what was before.
func resetPeak() { _ = os.WriteFile("/proc/self/clear_refs", []byte("5"), 0) }

// peakBytes returns how large the process has been: its resident memory, with that of SQLite.
func peakBytes() int64 {
	data, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	_, after, _ := bytes.Cut(data, []byte("VmHWM:"))
	fields := bytes.Fields(after)
	if len(fields) == 0 {
		return 0
	}
	n, err := strconv.ParseInt(string(fields[0]), 10, 64)
	if err != nil {
		return 0
	}
	return n << 10
}
