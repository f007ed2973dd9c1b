package wasi

import (
	"github.com/tetratelabs/wazero/api"

	"github.com/anchor-host/anchor-host/host/internal/mounts"
	"github.com/anchor-host/anchor-host/host/internal/wazerox"
)

// descriptors watches the file descriptors of a guest: the standard ones and the mounts. They
// are in wazero and not in the image. So a guest that has opened others, or has lost one of
// these, cannot be reset.
type descriptors struct {
	// noted are the descriptors that the guest started with, nil if the host cannot look at
	// them.
	noted *wazerox.Descriptors
	// files are the guest's files in the mounts. base is how many are open when only the
	// mounts themselves are.
	files *mounts.Guest
	base  int
	// touched says that a call may have changed descriptors.
	touched bool
}

// ChangesDescriptors reports whether a function of WASI can open, close or move a descriptor,
// or change its state.
func ChangesDescriptors(name string) bool {
	switch name {
	case "fd_close", "fd_renumber", "fd_readdir", "path_open", "sock_accept":
		return true
	}
	return false
}

// watch notes the descriptors of a new guest with so many mounts, if they are visible. The
// error says why they cannot be watched.
func watch(mod api.Module, visible bool, folders int, files *mounts.Guest) (d *descriptors, err error) {
	d = &descriptors{files: files}
	if visible {
		if d.noted, err = wazerox.NoteDescriptors(mod, folders); err != nil {
			return nil, err
		}
	}
	d.base = files.Open()
	return d, nil
}

// kept reports whether calls have left the descriptors as they were.
func (d *descriptors) kept() bool {
	if d == nil || !d.touched {
		return true
	}
	d.touched = !d.same()
	return !d.touched
}

// touch notes that the guest calls a function that can change descriptors.
func (d *descriptors) touch() {
	if d != nil {
		d.touched = true
	}
}

// same reports whether the descriptors are those that the guest started with, and nobody has
// begun to read a directory through them. If the host cannot look at them, it assumes so as
// long as no call has touched them.
func (d *descriptors) same() bool {
	switch {
	case d == nil:
		return true
	case d.noted == nil:
		return !d.touched
	}
	return d.files.Open() == d.base && d.noted.Same()
}
