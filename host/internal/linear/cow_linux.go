//go:build linux && (amd64 || arm64 || riscv64 || loong64)

package linear

import (
	"os"
	"runtime"
	"syscall"
	"unsafe"
)

// memfd_create(2), which package syscall does not have.
const (
	memfdCreateAMD64   = 319
	memfdCreateGeneric = 279
	memfdCloseOnExec   = 1
)

// backing is an image as a file in memory. Any number of memories map it copy-on-write,
// so that pages that no guest wrote exist once.
type backing struct {
	file *os.File
	view []byte // a mapping of the whole file, to read
}

func newBacking(size int, runs []run) (*backing, error) {
	number := uintptr(memfdCreateGeneric)
	if runtime.GOARCH == "amd64" {
		number = memfdCreateAMD64
	}
	name := []byte("anchor-image\x00")
	fd, _, e := syscall.Syscall(number, uintptr(unsafe.Pointer(&name[0])), memfdCloseOnExec, 0)
	if e != 0 {
		return nil, e
	}
	b := &backing{file: os.NewFile(fd, "anchor-image")}
	err := b.file.Truncate(int64(size))
	for _, r := range runs {
		if err == nil {
			_, err = b.file.WriteAt(r.bytes, int64(r.at))
		}
	}
	if err == nil {
		b.view, err = syscall.Mmap(int(fd), 0, size, syscall.PROT_READ, syscall.MAP_SHARED)
	}
	if err != nil {
		b.close()
		return nil, err
	}
	return b, nil
}

// mapOver maps the image over the beginning of a reservation.
func (b *backing) mapOver(mapped []byte, size int) error {
	_, _, e := syscall.Syscall6(syscall.SYS_MMAP, uintptr(unsafe.Pointer(&mapped[0])), uintptr(size),
		syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_PRIVATE|syscall.MAP_FIXED|syscall.MAP_NORESERVE, b.file.Fd(), 0)
	if e != 0 {
		return e
	}
	return nil
}

// close closes the file and unmaps the view. The mappings of memories stay.
func (b *backing) close() {
	if b.view != nil {
		release(b.view)
	}
	_ = b.file.Close()
}
