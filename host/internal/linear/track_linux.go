//go:build linux && (amd64 || arm64 || riscv64 || loong64)

package linear

import (
	"fmt"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"unsafe"
)

// tracker tells which pages of a memory were written since they were protected,
// by userfaultfd's asynchronous write protection and PAGEMAP_SCAN (Linux 6.7 and
// newer): the kernel lets the first write to a page through and remembers it.
// Asking takes a tenth of what reading the page map does.
type tracker struct {
	faults uintptr
	// counts says that threads count the faults by which pages are written.
	counts bool
	// maps are open page maps of the process. Memories take turns with them: each use
	// counts in the file, and processors that count in the same one wait for each other.
	maps []*os.File
	next atomic.Uint32
}

// mostMaps is how many page maps are open at most.
const mostMaps = 16

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

// writes opens the tracker of the process, which stays open with it.
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
	t := &tracker{faults: fd, maps: []*os.File{p.file}}
	for range min(runtime.NumCPU(), mostMaps) - 1 {
		if f, err := os.Open(pagemapPath); err == nil { // else fewer serve
			t.maps = append(t.maps, f)
		}
	}
	api := [3]uint64{uffdAPI, uffdFeatureWPAsync}
	err = ioctl(t.faults, uffdioAPI, unsafe.Pointer(&api))
	if err == nil {
		err = t.try()
	}
	if err != nil {
		_ = syscall.Close(int(fd))
		for _, f := range t.maps[1:] {
			_ = f.Close()
		}
		return nil, fmt.Errorf("userfaultfd: %w", err)
	}
	t.counts = t.counted()
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

// protect begins to track mem. All of it must map one file.
func (t *tracker) protect(mem []byte) error {
	reg := [4]uint64{address(mem), uint64(len(mem)), uffdModeWP}
	if err := ioctl(t.faults, uffdioRegister, unsafe.Pointer(&reg)); err != nil {
		return err
	}
	return t.mark(mem, uffdProtect)
}

// release takes a part of mem as written from now on, so that writing to it
// costs nothing.
func (t *tracker) release(part []byte) error { return t.mark(part, uffdDontWake) }

func (t *tracker) mark(mem []byte, mode uint64) error {
	arg := [3]uint64{address(mem), uint64(len(mem)), mode}
	return ioctl(t.faults, uffdioWriteProtect, unsafe.Pointer(&arg))
}

// track is the state of another memory.
func (t *tracker) track() *track {
	return &track{pagemap: t.maps[t.next.Add(1)%uint32(len(t.maps))], counts: t.counts}
}

// track is the state of a memory that follows its writes.
type track struct {
	pagemap *os.File
	counts  bool
	// found is where the kernel writes to, which must not be a stack: those move. known
	// are those of it that are all of the memory's, nil where that is not known. What was
	// written once stays among them.
	found [64]region
	known []region
	// source holds what the known parts are to become, nil until they are put back again:
	// own, or the image.
	source *Image
	own    Image
}

// written calls f for each part of mem, all of it protected once, that may have
// been written since.
func (t *track) written(mem []byte, f func(from, to int)) error {
	fd, found, base := t.pagemap.Fd(), &t.found, address(mem)
	t.known, t.source = nil, nil
	for at, end := base, base+uint64(len(mem)); at < end; {
		s := scan{size: uint64(unsafe.Sizeof(scan{})), start: at, end: end,
			vec: uint64(uintptr(unsafe.Pointer(found))), vecLen: uint64(len(found)), mask: pageIsWritten, result: pageIsWritten}
		// Raw: this takes a few microseconds and, like a page fault, waits for no more than
		// the memory map. During any other call the runtime may take the processor away,
		// and its monitor, once it has, looks for more to take every 20 µs for a while.
		n, _, e := syscall.RawSyscall(syscall.SYS_IOCTL, fd, pagemapScan, uintptr(unsafe.Pointer(&s)))
		if e != 0 {
			return fmt.Errorf("page map: %w", e)
		}
		for _, r := range found[:n] {
			f(int(r.start-base), int(r.end-base))
		}
		if s.walkEnd <= at {
			return fmt.Errorf("page map: stopped at %#x of %#x", at, end)
		}
		if at == base && s.walkEnd == end {
			t.known = found[:n]
		}
		at = s.walkEnd
	}
	return nil
}

const (
	// trackAfter is the resets after which writes are tracked: preparing that
	// takes as long as dozens of resets without.
	trackAfter = 2
	// trackMost is the largest image whose writes are tracked, in bytes: each of
	// its pages gets an entry in the page table of each memory.
	trackMost = 32 << 20
)

// restoreOwn puts the image that m maps back by looking only at pages that are
// not the image's any more. It reports how many bytes of the image those are, 0 if they
// are those of the time before, and whether it could.
func (m *Memory) restoreOwn(mem []byte, quiet bool) (own int64, ok bool) {
	p, err := pages()
	if err != nil {
		return 0, false
	}
	im := m.image
	restore := func(from, to int) {
		own += int64(max(0, min(to, im.size)-from))
		im.restore(mem, from, to)
	}
	if m.track == nil {
		err = p.own(mem, restore) // before writes are tracked: protection shows in the page map
		if m.resets++; m.resets == trackAfter && im.size <= trackMost {
			m.follow(p)
		}
		return own, err == nil
	}
	if !quiet || !m.again(mem) {
		if m.track.written(mem[:im.size], restore) != nil {
			return 0, false
		}
	}
	if len(mem) == im.size {
		return own, true
	}
	return own, p.own(mem[im.size:], func(from, to int) { wipe(mem[im.size:][from:to]) }) == nil
}

// follow begins to track the writes to m, which maps its image. The pages that
// are its own already count as written: a call that writes them again, as most
// do, is not slowed down.
func (m *Memory) follow(p *pagemap) {
	t, err := writes()
	if err != nil {
		return
	}
	mem := m.mapped[:m.image.size]
	for _, r := range m.image.runs { // in one go, rather than at one fault each
		_ = syscall.Madvise(mem[r.at:r.end()], advisePopulateRead)
	}
	var own [][]byte // found out before: protection shows in the page map
	err = p.own(mem, func(from, to int) { own = append(own, mem[from:to]) })
	if err != nil || t.protect(mem) != nil {
		return
	}
	for _, part := range own {
		if t.release(part) != nil {
			return
		}
	}
	m.track = t.track()
}
