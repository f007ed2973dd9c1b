//go:build linux || darwin

package linear

import (
	"errors"
	"math"
	"syscall"

	"github.com/anchor-host/anchor-host/internal/rlimit"
)

// reserve maps n bytes of zeros. A page takes memory only once it is touched. Where
// addresses are scarce, reserve fails.
func reserve(n uint64) ([]byte, error) {
	if n == 0 || n > math.MaxInt {
		return nil, errors.New("cannot map that many bytes")
	}
	if !rlimit.Room(n + rlimit.ForRuntime) {
		return nil, errors.New("addresses are scarce")
	}
	return syscall.Mmap(-1, 0, int(n), syscall.PROT_READ|syscall.PROT_WRITE,
		syscall.MAP_PRIVATE|syscall.MAP_ANON|syscall.MAP_NORESERVE)
}

// release unmaps what reserve mapped.
func release(b []byte) { _ = syscall.Munmap(b) }
