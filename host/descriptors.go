package host

import (
	"errors"
	"fmt"
	"reflect"

	"github.com/tetratelabs/wazero/api"
	experimentalsys "github.com/tetratelabs/wazero/experimental/sys"
)

// descriptors are the file descriptors an instance started with: the standard
// ones and the mounts. They lie in wazero, outside of what an image holds, so an
// instance that has others, or has lost one of these, cannot be reset.
type descriptors struct {
	lookup  reflect.Value
	entries []uintptr
	// live counts the open files of the mounts; base is its value when only the
	// mounts themselves are open.
	live *int
	base int
	// touched says that a call may have changed them.
	touched bool
}

// standardDescriptors are stdin, stdout and stderr.
const standardDescriptors = 3

// changesDescriptors reports whether a WASI function can open, close or move a
// descriptor, or leave something behind in one.
func changesDescriptors(name string) bool {
	switch name {
	case "fd_close", "fd_renumber", "fd_readdir", "path_open", "sock_accept":
		return true
	}
	return false
}

// watchDescriptors notes the descriptors of a new instance. wazero has no
// interface for them: they are found by reflection over exported names, and an
// error says that these have changed.
func watchDescriptors(mod api.Module, mounts int, live *int) (d *descriptors, err error) {
	defer func() {
		if recover() != nil {
			d, err = nil, errors.New("this version of wazero does not show open files")
		}
	}()
	table := reflect.ValueOf(mod).Elem().FieldByName("Sys").MethodByName("FS").Call(nil)[0]
	d = &descriptors{lookup: table.MethodByName("LookupFile"), live: live}
	for fd := range standardDescriptors + mounts {
		entry, ok := d.entry(fd)
		if !ok {
			return nil, errors.New("a mount has no descriptor")
		}
		if fd >= standardDescriptors { // opened when first used; now is as good
			file := entry.Elem().FieldByName("File").Interface().(experimentalsys.File)
			if _, errno := file.IsDir(); errno != 0 {
				return nil, fmt.Errorf("a mount cannot be opened: %w", errno)
			}
		}
		d.entries = append(d.entries, entry.Pointer())
	}
	d.base = *live
	return d, nil
}

// entry is the entry of a descriptor in wazero's table.
func (d *descriptors) entry(fd int) (reflect.Value, bool) {
	r := d.lookup.Call([]reflect.Value{reflect.ValueOf(int32(fd))})
	return r[0], r[1].Bool()
}

// kept reports whether calls have left the descriptors as they were.
func (d *descriptors) kept() bool {
	if d == nil || !d.touched {
		return true
	}
	d.touched = !d.same()
	return !d.touched
}

// touch notes that a guest calls a function that can change descriptors.
func (d *descriptors) touch() {
	if d != nil {
		d.touched = true
	}
}

// same reports whether the descriptors are those the instance started with, and
// nobody has begun to read a directory through one of them.
func (d *descriptors) same() bool {
	if d == nil {
		return true
	}
	if *d.live != d.base {
		return false
	}
	for fd, was := range d.entries {
		entry, ok := d.entry(fd)
		if !ok || entry.Pointer() != was || !entry.Elem().FieldByName("direntCache").IsNil() {
			return false
		}
	}
	return true
}
