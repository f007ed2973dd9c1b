//go:build linux && (amd64 || arm64 || riscv64 || loong64)

package linear

import (
	"fmt"
	"os"
	"sync"
	"unsafe"
)

// pagemap tells which pages of a memory are its own. A memory that maps an image
// copy-on-write shares with it every page it never wrote, so what has to be put
// back is among the pages that are not part of the file any more. That needs no
// privilege and, unlike protecting pages, slows no write down.
type pagemap struct {
	file *os.File
	page int
}

// pagemapPath is the page map of the process, with an entry of 8 bytes for each page.
const pagemapPath = "/proc/self/pagemap"

// Bits of an entry.
const (
	pagePresent = 1 << 63
	pageSwapped = 1 << 62
	pageOfFile  = 1 << 61
)

// pages opens the page map of the process, which stays open with it.
var pages = sync.OnceValues(func() (*pagemap, error) {
	page := os.Getpagesize()
	if PageSize%page != 0 || page%grain != 0 {
		return nil, fmt.Errorf("page map: pages of %d bytes are not supported", page)
	}
	f, err := os.Open(pagemapPath)
	if err != nil {
		return nil, fmt.Errorf("page map: %w", err)
	}
	p := &pagemap{f, page}
	if err := p.try(); err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("page map: %w", err)
	}
	return p, nil
})

// Finds says how this system finds what differs from an image, found out by
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

// Counts says whether writes are tracked and page faults counted, so that a call without
// one need not be asked about, found out by trying.
func Counts() bool {
	t, err := writes()
	return err == nil && t.counts
}

// own calls f for each part of mem, which must begin on a page, that is not part
// of a file. f must not write anywhere else.
func (p *pagemap) own(mem []byte, f func(from, to int)) error {
	var entries [512]uint64
	raw := unsafe.Slice((*byte)(unsafe.Pointer(&entries)), unsafe.Sizeof(entries))
	first := uintptr(unsafe.Pointer(unsafe.SliceData(mem))) / uintptr(p.page)
	count := (len(mem) + p.page - 1) / p.page
	for at := 0; at < count; at += len(entries) {
		n := min(count-at, len(entries))
		if _, err := p.file.ReadAt(raw[:8*n], int64(8*(first+uintptr(at)))); err != nil {
			return fmt.Errorf("page map: %w", err)
		}
		begin := -1
		for i, e := range entries[:n] {
			own := e&(pagePresent|pageSwapped) != 0 && e&pageOfFile == 0
			if own && begin < 0 {
				begin = at + i
			}
			if !own && begin >= 0 {
				f(begin*p.page, (at+i)*p.page)
				begin = -1
			}
		}
		if begin >= 0 {
			f(begin*p.page, min((at+n)*p.page, len(mem)))
		}
	}
	return nil
}
