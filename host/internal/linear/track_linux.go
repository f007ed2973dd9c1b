//go:build linux && (amd64 || arm64 || riscv64 || loong64)

package linear

import (
	"fmt"
	"runtime"
	"sync"
	"syscall"
	"unsafe"
)

// tracker asks the kernel which pages of a memory were written. It write-protects them
// asynchronously by userfaultfd: the kernel lets the first write to a page through and
// notes it. The ioctl PAGEMAP_SCAN returns the notes (Linux 6.7 and newer), in a tenth of
// the time that reading the page map takes.
type tracker struct{ userfault, pagemap uintptr }

// Of <linux/userfaultfd.h> and <linux/fs.h>.
const (
	sysUserfaultfdAMD64   = 323
	sysUserfaultfdGeneric = 282
	uffdUserModeOnly      = 1
	uffdAPI               = 0xAA
	uffdFeatureWPAsync    = 1 << 15
	uffdioAPI             = 0xc018aa3f
	uffdioRegister        = 0xc020aa00
	uffdioWriteProtect    = 0xc018aa06
	uffdModeWP            = 2
	uffdProtect           = 1
	uffdDontWake          = 2
	pagemapScan           = 0xc0606610
	pageIsWritten         = 2
	advisePopulateRead    = 22 // MADV_POPULATE_READ
)

// scan is struct pm_scan_arg, region struct page_region.
type scan struct {
	size, flags, start, end, walkEnd, vec, vecLen, maxPages uint64
	inverted, mask, anyOf, result                           uint64
}

type region struct{ start, end, _ uint64 }

// writes opens the tracker of the process, which stays open.
var writes = sync.OnceValues(func() (*tracker, error) {
	p, err := pages()
	if err != nil {
		return nil, err
	}
	number := uintptr(sysUserfaultfdGeneric)
	if runtime.GOARCH == "amd64" {
		number = sysUserfaultfdAMD64
	}
	fd, _, e := syscall.Syscall(number, syscall.O_CLOEXEC|uffdUserModeOnly, 0, 0)
	if e != 0 {
		return nil, fmt.Errorf("userfaultfd: %w", e)
	}
	t := &tracker{userfault: fd, pagemap: p.file.Fd()}
	api := [3]uint64{uffdAPI, uffdFeatureWPAsync}
	err = ioctl(t.userfault, uffdioAPI, unsafe.Pointer(&api))
	if err == nil {
		err = t.try()
	}
	if err != nil {
		_ = syscall.Close(int(fd))
		return nil, fmt.Errorf("userfaultfd: %w", err)
	}
	return t, nil
})

func ioctl(fd, request uintptr, arg unsafe.Pointer) error {
	if _, _, e := syscall.Syscall(syscall.SYS_IOCTL, fd, request, uintptr(arg)); e != 0 {
		return e
	}
	return nil
}

// address is where b begins.
func address(b []byte) uint64 { return uint64(uintptr(unsafe.Pointer(unsafe.SliceData(b)))) }

// protect begins to track writes to mem. All of mem must map one file.
func (t *tracker) protect(mem []byte) error {
	reg := [4]uint64{address(mem), uint64(len(mem)), uffdModeWP}
	if err := ioctl(t.userfault, uffdioRegister, unsafe.Pointer(&reg)); err != nil {
		return err
	}
	return t.mark(mem, uffdProtect)
}

// unprotect marks a part of mem as written, so that no write to it costs a fault.
func (t *tracker) unprotect(part []byte) error { return t.mark(part, uffdDontWake) }

func (t *tracker) mark(mem []byte, mode uint64) error {
	arg := [3]uint64{address(mem), uint64(len(mem)), mode}
	return ioctl(t.userfault, uffdioWriteProtect, unsafe.Pointer(&arg))
}

// track makes the state of a memory whose writes are tracked.
func (t *tracker) track() *track { return &track{pagemap: t.pagemap} }

// track is the state of a memory whose writes are tracked.
type track struct {
	pagemap uintptr
	// found is the buffer that the kernel writes its answer to. It must not lie on a
	// goroutine's stack, which may move.
	found [64]region
}

// written calls f for each part of mem that was written since protect, and for each that
// unprotect marked. protect must have seen all of mem.
func (t *track) written(mem []byte, f func(from, to int)) error {
	found, base := &t.found, address(mem)
	for at, end := base, base+uint64(len(mem)); at < end; {
		s := scan{size: uint64(unsafe.Sizeof(scan{})), start: at, end: end,
			vec: uint64(uintptr(unsafe.Pointer(found))), vecLen: uint64(len(found)), mask: pageIsWritten, result: pageIsWritten}
		// RawSyscall does not announce the call to Go's runtime. The call takes a few
		// microseconds and waits for nothing but the memory map, as a page fault does. The
		// runtime takes the processor from a goroutine that it meets in an announced call,
		// and its monitor then stays awake for a while, which slows all callers.
		n, _, e := syscall.RawSyscall(syscall.SYS_IOCTL, t.pagemap, pagemapScan, uintptr(unsafe.Pointer(&s)))
		if e != 0 {
			return fmt.Errorf("page map: %w", e)
		}
		for _, r := range found[:n] {
			f(int(r.start-base), int(r.end-base))
		}
		if s.walkEnd <= at {
			return fmt.Errorf("page map: stopped at %#x of %#x", at, end)
		}
		at = s.walkEnd
	}
	return nil
}

const (
	// trackAfter is the number of resets after which writes are tracked. Preparing that
	// takes as long as dozens of resets without it.
	trackAfter = 2
	// trackMost is the size of the largest image whose writes are tracked, in bytes. Each
	// of its pages takes an entry in the page table of each memory.
	trackMost = 32 << 20
)

// Finds says how this system finds the pages that differ from an image, found out by
// trying.
func Finds() Finder {
	if _, err := pages(); err != nil {
		return Compares
	}
	if _, err := writes(); err != nil {
		return ReadsMap
	}
	return Tracks
}
