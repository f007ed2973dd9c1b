package main

import (
	"os"
	"syscall"
)

// peakOf returns the most memory that a process had resident, in bytes.
func peakOf(p *os.ProcessState) int64 {
	u, ok := p.SysUsage().(*syscall.Rusage)
	if !ok {
		return 0
	}
	return u.Maxrss << 10
}
