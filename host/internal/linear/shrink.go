package linear

import (
	"context"
	"reflect"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
)

// Shrink makes a memory as small as size bytes, whole pages and at least one, and reports
// whether it did. The content beyond must be zero, because the memory may grow again. The
// memory must come from a [Memory].
//
// wazero has no function for this. Its memory is a struct with an exported field Buffer.
// Shrink makes Buffer one page shorter than wanted and grows the memory by one page. Then
// wazero asks the allocator for the wanted size and passes the result to its engine.
func Shrink(mem api.Memory, size uint32) (done bool) {
	if size < PageSize || size%PageSize != 0 || size > mem.Size() {
		return false
	}
	if size == mem.Size() {
		return true
	}
	defer func() {
		if recover() != nil {
			done = false
		}
	}()
	reflect.ValueOf(mem).Elem().FieldByName("Buffer").SetLen(int(size - PageSize))
	_, ok := mem.Grow(1)
	return ok && mem.Size() == size
}

// probe is a module whose code returns the size of its memory and a byte of it:
//
//	(memory (export "m") 1 4)
//	(func (export "s") (result i32) memory.size)
//	(func (export "l") (param i32) (result i32) (i32.load8_u (local.get 0)))
var probe = []byte("\x00asm\x01\x00\x00\x00" +
	"\x01\x0a\x02\x60\x00\x01\x7f\x60\x01\x7f\x01\x7f" +
	"\x03\x03\x02\x00\x01" +
	"\x05\x04\x01\x01\x01\x04" +
	"\x07\x0d\x03\x01m\x02\x00\x01s\x00\x00\x01l\x00\x01" +
	"\x0a\x0e\x02\x04\x00\x3f\x00\x0b\x07\x00\x20\x00\x2d\x00\x00\x0b")

// CanShrink tries out whether Shrink works on a runtime. Compiled code must see the
// smaller size, must trap beyond it, and must read zeros there when the memory grows again.
func CanShrink(ctx context.Context, rt wazero.Runtime) (can bool) {
	defer func() {
		if recover() != nil {
			can = false
		}
	}()
	m := New(4*PageSize, func(int64) bool { return true })
	defer m.Free()
	mod, err := rt.InstantiateWithConfig(Bind(ctx, m), probe, wazero.NewModuleConfig().WithName("").WithStartFunctions())
	if err != nil {
		return false
	}
	defer mod.Close(ctx)
	mem := mod.Memory()
	pages := func(want uint64) bool {
		r, err := mod.ExportedFunction("s").Call(ctx)
		return err == nil && r[0] == want && uint64(mem.Size()) == want*PageSize
	}
	load := func(at uint64) (uint64, bool) {
		r, err := mod.ExportedFunction("l").Call(ctx, at)
		return append(r, 0)[0], err == nil
	}
	grow := func() bool { _, ok := mem.Grow(2); return ok && pages(3) }
	if !grow() || !mem.WriteByte(2*PageSize, 7) {
		return false
	}
	if v, ok := load(2 * PageSize); !ok || v != 7 {
		return false
	}
	mem.WriteByte(2*PageSize, 0)
	if !Shrink(mem, PageSize) || !pages(1) {
		return false
	}
	if _, ok := load(PageSize); ok {
		return false
	}
	v, ok := uint64(1), grow()
	if ok {
		v, ok = load(2 * PageSize)
	}
	return ok && v == 0
}

// Shares reports whether memories share images on this system.
func Shares() bool {
	im := Capture(make([]byte, PageSize))
	defer im.Free()
	m, filled := NewFrom(im, PageSize, func(int64) bool { return true }, false)
	m.Free()
	return filled
}

// Maps reports whether memories are reserved mappings on this system.
func Maps() bool {
	b, err := reserve(PageSize)
	if err != nil {
		return false
	}
	release(b)
	return true
}
