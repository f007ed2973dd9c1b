package wazerox

import (
	"context"
	"errors"
	"fmt"
	"reflect"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental/sys"
)

// Descriptors are the file descriptors that an instance had when they were noted. wazero
// has no interface for them: they are found by reflection over names that it exports, and
// one that it does not.
type Descriptors struct {
	lookup  reflect.Value
	entries []uintptr
}

// standardDescriptors are stdin, stdout and stderr.
const standardDescriptors = 3

// NoteDescriptors notes the descriptors of a new instance with so many mounts. Mounts are
// opened, which would else happen when they are first used. An error says that they
// cannot be noted.
func NoteDescriptors(mod api.Module, mounts int) (d *Descriptors, err error) {
	defer func() {
		if recover() != nil {
			d, err = nil, errors.New("this version of wazero does not show open files")
		}
	}()
	table := reflect.ValueOf(mod).Elem().FieldByName("Sys").MethodByName("FS").Call(nil)[0]
	d = &Descriptors{lookup: table.MethodByName("LookupFile")}
	for fd := range standardDescriptors + mounts {
		entry, ok := d.entry(fd)
		if !ok {
			return nil, errors.New("a mount has no descriptor")
		}
		if fd >= standardDescriptors {
			file := entry.Elem().FieldByName("File").Interface().(sys.File)
			if _, errno := file.IsDir(); errno != 0 {
				return nil, fmt.Errorf("a mount cannot be opened: %w", errno)
			}
		}
		d.entries = append(d.entries, entry.Pointer())
	}
	return d, nil
}

// entry is the entry of a descriptor in wazero's table.
func (d *Descriptors) entry(fd int) (reflect.Value, bool) {
	r := d.lookup.Call([]reflect.Value{reflect.ValueOf(int32(fd))})
	return r[0], r[1].Bool()
}

// Same reports whether these descriptors are still what they were, and nobody has begun to
// read a directory through one of them. It says nothing of others.
func (d *Descriptors) Same() bool {
	for fd, was := range d.entries {
		entry, ok := d.entry(fd)
		if !ok || entry.Pointer() != was || !entry.Elem().FieldByName("direntCache").IsNil() {
			return false
		}
	}
	return true
}

// filesProbe is a guest that changes its descriptors:
//
//	(func (export "close") (param i32) (result i32) (call $fd_close (local.get 0)))
//	(func (export "list") (param i32) (result i32)
//	  (call $fd_readdir (local.get 0) (i32.const 0) (i32.const 64) (i64.const 0) (i32.const 128)))
const filesProbe = "\x00asm\x01\x00\x00\x00" +
	"\x01\x0f\x02\x60\x01\x7f\x01\x7f\x60\x05\x7f\x7f\x7f\x7e\x7f\x01\x7f" +
	"\x02\x47\x02\x16wasi_snapshot_preview1\x08fd_close\x00\x00\x16wasi_snapshot_preview1\x0afd_readdir\x00\x01" +
	"\x03\x03\x02\x00\x00" +
	"\x05\x03\x01\x00\x01" +
	"\x07\x19\x03\x06memory\x02\x00\x05close\x00\x02\x04list\x00\x03" +
	"\x0a\x19\x02\x06\x00\x20\x00\x10\x00\x0b\x10\x00\x20\x00\x41\x00\x41\xc0\x00\x42\x00\x41\x80\x01\x10\x01\x0b"

// probeDescriptors tries out whether what a guest does to its descriptors is seen.
func probeDescriptors(l *lab) error {
	b := l.rt.NewHostModuleBuilder(WASIModule)
	for _, name := range []string{"fd_close", "fd_readdir"} {
		def, ok := WASIFunctions()[name]
		if !ok {
			return errors.New("there is no WASI function " + name)
		}
		fn, err := GoFunction(def)
		if err != nil {
			return err
		}
		b.NewFunctionBuilder().WithGoModuleFunction(fn, def.ParamTypes(), def.ResultTypes()).Export(name)
	}
	if _, err := b.Instantiate(l.ctx); err != nil {
		return err
	}
	compiled, err := l.rt.CompileModule(l.ctx, []byte(filesProbe))
	if err != nil {
		return err
	}
	for _, change := range []struct {
		name string
		args []uint64
	}{{"list", []uint64{3}}, {"close", []uint64{3}}, {"close", []uint64{1}}, {"", nil}} {
		if err := l.changed(compiled, change.name, change.args...); err != nil {
			return err
		}
	}
	return nil
}

// changed calls a function of a guest with two mounts that changes its descriptors, or none
// for "", and returns an error if it is not seen.
func (l *lab) changed(compiled wazero.CompiledModule, name string, args ...uint64) error {
	cfg := wazero.NewFSConfig()
	for _, path := range []string{"/a", "/b"} {
		if cfg = Mount(cfg, emptyFolder{}, path); cfg == nil {
			return errNoMounts
		}
	}
	mod, err := l.rt.InstantiateModule(l.ctx, compiled, unnamed.WithFSConfig(cfg))
	if err != nil {
		return err
	}
	defer mod.Close(context.Background())
	d, err := NoteDescriptors(mod, 2)
	if err != nil {
		return err
	}
	if name != "" {
		if err := check(l.ctx, mod.ExportedFunction(name), 0, args...); err != nil {
			return err
		}
	}
	if d.Same() != (name == "") {
		return fmt.Errorf("changed descriptors are recognized: %t, after %q", !d.Same(), name)
	}
	return nil
}
