package wazerox

import (
	"bytes"
	"errors"
	"os"
	"slices"
	"syscall"
	"unsafe"
)

// local are the kinds of file systems whose files no other machine changes or removes: ext, XFS, Btrfs, OverlayFS, F2FS,
// ZFS and tmpfs.
var local = []uint32{0xEF53, 0x58465342, 0x9123683E, 0x794C7630, 0xF2F52010, 0x2FC12FC1, 0x01021994}

const (
	mayMove = 1 // MREMAP_MAYMOVE
	fixed   = 2 // MREMAP_FIXED
	noExec  = 8 // ST_NOEXEC
)

// Mappable returns why files of a folder cannot be the machine code of modules, nil if they may.
func Mappable(dir string) error {
	var fs syscall.Statfs_t
	if err := syscall.Statfs(dir, &fs); err != nil {
		return os.NewSyscallError("statfs", err)
	}
	if !slices.Contains(local, uint32(fs.Type)) {
		return errors.New("the folder may be on another machine")
	}
	if fs.Flags&noExec != 0 {
		return errors.New("the file system is mounted without a right to execute")
	}
	return nil
}

// MapCode has the machine code of a module, see [Code], be the pages of a file that holds the same: pages that no
// guest runs then take no memory, and those that run are shared between processes. wazero reads it into memory of its
// own. The folder of the file must be [Mappable]. The error is [ErrOtherCode] if the file holds another code, and leaves
// the module as it is.
func MapCode(code []byte, f *os.File) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if len(code) == 0 || info.Size() != int64(len(code)) {
		return ErrOtherCode
	}
	mapped, err := syscall.Mmap(int(f.Fd()), 0, len(code), syscall.PROT_READ|syscall.PROT_EXEC, syscall.MAP_PRIVATE)
	if err != nil {
		return os.NewSyscallError("mmap", err)
	}
	if !bytes.Equal(mapped, code) {
		return errors.Join(ErrOtherCode, syscall.Munmap(mapped))
	}
	size := uintptr(len(code))
	_, _, e := syscall.Syscall6(syscall.SYS_MREMAP, uintptr(unsafe.Pointer(&mapped[0])), size, size, mayMove|fixed, uintptr(unsafe.Pointer(&code[0])), 0)
	if e != 0 {
		return errors.Join(os.NewSyscallError("mremap", e), syscall.Munmap(mapped))
	}
	discard(code) // the pages that were compared
	return nil
}
