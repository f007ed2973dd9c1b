//go:build linux || darwin || freebsd || netbsd

package rlimit

import (
	"math"
	"syscall"
)

func readAddressSpace() limit { return soft(syscall.RLIMIT_AS) }

// canMap tries it, without taking memory.
func canMap(n uint64) bool {
	if n > math.MaxInt {
		return false
	}
	b, err := syscall.Mmap(-1, 0, int(n), syscall.PROT_NONE, syscall.MAP_PRIVATE|syscall.MAP_ANON)
	if err != nil {
		return false
	}
	return syscall.Munmap(b) == nil
}
