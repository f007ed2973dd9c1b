//go:build unix

package rlimit

import (
	"math"
	"syscall"
)

func openFiles() limit { return soft(syscall.RLIMIT_NOFILE) }

// soft reads the limit that counts. One beyond what memory there can be is none.
func soft(resource int) limit {
	var r syscall.Rlimit
	if err := syscall.Getrlimit(resource, &r); err != nil || r.Cur >= math.MaxInt64/2 {
		return limit{}
	}
	return limit{int64(r.Cur), true}
}
