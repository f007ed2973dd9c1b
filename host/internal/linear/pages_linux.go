//go:build linux && (amd64 || arm64 || riscv64 || loong64)

package linear

import (
	"fmt"
	"os"
	"sync"
	"unsafe"
)

// pagemap tells which pages of a memory are private copies. A memory that maps an image
// copy-on-write shares every page that it never wrote with the image's file. So only
// pages that are not part of the file can differ. Reading the page map needs no privilege
// and, unlike protecting pages, slows no write down.
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

// pages opens the page map of the process, which stays open.
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

// private calls f for each part of mem that is not part of a file. mem must begin on a
// page. f must write to nothing but that part.
func (p *pagemap) private(mem []byte, f func(from, to int)) error {
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
			private := e&(pagePresent|pageSwapped) != 0 && e&pageOfFile == 0
			if private && begin < 0 {
				begin = at + i
			}
			if !private && begin >= 0 {
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
