package host

import (
	"github.com/tetratelabs/wazero/api"

	"github.com/anchor-host/anchor-host/host/internal/compile"
	"github.com/anchor-host/anchor-host/host/internal/wazerox"
)

// descriptors watches the file descriptors of an instance: the standard ones and the
// mounts. They lie in wazero and not in the image. So an instance that has opened others,
// or has lost one of these, cannot be reset.
type descriptors struct {
	// noted are the descriptors that the instance started with, nil if the host cannot look
	// at them.
	noted *wazerox.Descriptors
	// live counts the open files of the mounts. base is its value when only the mounts
	// themselves are open.
	live *int
	base int
	// touched says that a call may have changed them.
	touched bool
}

// changesDescriptors reports whether a WASI function can open, close or move a descriptor,
// or change its state.
func changesDescriptors(name string) bool {
	switch name {
	case "fd_close", "fd_renumber", "fd_readdir", "path_open", "sock_accept":
		return true
	}
	return false
}

// watchDescriptors notes the descriptors of a new instance. The error says why they cannot
// be watched.
func watchDescriptors(e *compile.Engine, mod api.Module, mounts int, live *int) (d *descriptors, err error) {
	d = &descriptors{live: live}
	if e.Features.On(wazerox.OpenFiles) {
		if d.noted, err = wazerox.NoteDescriptors(mod, mounts); err != nil {
			return nil, err
		}
	}
	d.base = *live
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

// same reports whether the descriptors are those that the instance started with, and nobody
// has begun to read a directory through them. If the host cannot look at them, it assumes
// so as long as no call has touched them.
func (d *descriptors) same() bool {
	switch {
	case d == nil:
		return true
	case d.noted == nil:
		return !d.touched
	}
	return *d.live == d.base && d.noted.Same()
}
