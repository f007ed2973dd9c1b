package wazerox

import (
	"bytes"
	"errors"
	"os"
	"slices"
	"syscall"
	"unsafe"

	"github.com/anchor-host/anchor-host/internal/rlimit"
)

const (
	// hugePage is the size of a large page, and what it lies on a multiple of.
	hugePage = 2 << 20
	// leastPage is the size of the smallest pages there are.
	leastPage = 4 << 10
)

// mapStack maps a stack and returns the whole mapping and the stack in it. Its topmost
// part comes in small pages, the next in huge ones where the system has them; below that
// it cannot be touched. Where addresses are scarce there is none.
func mapStack(small, huge int) (mapped, mem []byte, err error) {
	if !rlimit.Room(unmoved + hugePage + rlimit.ForRuntime) {
		return nil, nil, errors.New("addresses are scarce")
	}
	mapped, err = syscall.Mmap(-1, 0, unmoved+hugePage, syscall.PROT_NONE,
		syscall.MAP_PRIVATE|syscall.MAP_ANON|syscall.MAP_NORESERVE)
	if err != nil {
		return nil, nil, err
	}
	base := int(uintptr(unsafe.Pointer(&mapped[0])) % hugePage)
	top := len(mapped) - (base+len(mapped)-small)%hugePage
	mem = mapped[:top:top]
	if err := syscall.Mprotect(mem[top-small-huge:], syscall.PROT_READ|syscall.PROT_WRITE); err != nil {
		unmap(mapped)
		return nil, nil, err
	}
	// A kernel that knows nothing of huge pages refuses both.
	_ = syscall.Madvise(mem[top-small:], syscall.MADV_NOHUGEPAGE)
	if huge > 0 {
		_ = syscall.Madvise(mem[top-small-huge:top-small], syscall.MADV_HUGEPAGE)
	}
	return mapped, mem, nil
}

// mapValues maps so many bytes, which take no memory until they are used. Where addresses are scarce
// there are none.
func mapValues(bytes int64) ([]byte, error) {
	if !rlimit.Room(uint64(bytes) + rlimit.ForRuntime) {
		return nil, errors.New("addresses are scarce")
	}
	return syscall.Mmap(-1, 0, int(bytes), syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_PRIVATE|syscall.MAP_ANON|syscall.MAP_NORESERVE)
}

// untouched is what mincore says of pages that take no memory.
var untouched [(small + huge) / leastPage]byte

// touched is where the first page of a part of a stack begins that takes memory, its
// length if none does. Where the system cannot say, any page may.
func touched(b []byte) int {
	pages := untouched
	size := os.Getpagesize()
	n := len(b) / size
	if n > len(pages) {
		return 0
	}
	// Raw: this takes 2 µs and waits for no more than the memory map, so the runtime need
	// not find other work for the processor.
	if _, _, e := syscall.RawSyscall(syscall.SYS_MINCORE, uintptr(unsafe.Pointer(unsafe.SliceData(b))), uintptr(len(b)),
		uintptr(unsafe.Pointer(&pages))); e != 0 {
		return 0
	}
	if bytes.Equal(pages[:n], untouched[:n]) {
		return len(b)
	}
	return size * slices.IndexFunc(pages[:n], func(p byte) bool { return p != 0 })
}

// discard has pages of a mapping read as zeros and take no memory. It fails only for
// what is not mapped.
func discard(b []byte) { _ = syscall.Madvise(b, syscall.MADV_DONTNEED) }

// unmap ends a mapping. It fails only for what is not mapped.
func unmap(b []byte) { _ = syscall.Munmap(b) }
