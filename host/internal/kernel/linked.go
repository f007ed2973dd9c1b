package kernel

import (
	"context"
	"errors"
	"fmt"

	"github.com/tetratelabs/wazero/api"
)

// Linked is an instance of [Module]. Make it with [Open].
type Linked struct {
	mod     api.Module
	mem     api.Memory
	globals [globals]api.MutableGlobal
	shrink  func(mem api.Memory, size uint32) bool
	alloc   api.Function
	stack   [1]uint64
}

// Open makes a kernel of an instance of Module. Close of the kernel closes the instance.
// shrink makes a memory smaller, to size bytes, and reports whether it could; the bytes
// that it removes are 0.
func Open(mod api.Module, shrink func(mem api.Memory, size uint32) bool) (*Linked, error) {
	k := &Linked{mod: mod, mem: mod.Memory(), shrink: shrink}
	if k.mem == nil {
		return nil, errors.New("kernel: the module lost its memory")
	}
	for i := range k.globals {
		g, ok := mod.ExportedGlobal(globalName(i)).(api.MutableGlobal)
		if !ok {
			return nil, fmt.Errorf("kernel: the module lost its global %d", i)
		}
		k.globals[i] = g
	}
	return k, nil
}

// view returns a view of the bytes up to end.
func (k *Linked) view(end uint64) []byte {
	b, _ := k.mem.Read(0, uint32(min(end, uint64(k.mem.Size()))))
	return b
}

// Reset implements Kernel.
func (k *Linked) Reset() {
	if pos := k.globals[gPos].Get(); pos != first {
		clear(k.view(pos))
		k.globals[gPos].Set(first)
	}
	for i := gInOff; i < globals; i++ {
		k.globals[i].Set(0)
	}
	if k.mem.Size() > Keep {
		k.shrink(k.mem, PageSize)
	}
}

// SetInput implements Kernel.
func (k *Linked) SetInput(b []byte) bool {
	if len(b) == 0 {
		return true
	}
	at := k.globals[gPos].Get()
	off := at + header
	end := off + (uint64(len(b))+15)&^15
	if uint64(len(b)) > maxBlock || !k.room(end) {
		return false
	}
	mem := k.view(end)
	writeHeader(mem[at:], off, uint32(len(b)))
	copy(mem[off:], b)
	n := uint64(len(b))
	k.globals[gPos].Set(end)
	k.globals[gInOff].Set(off)
	k.globals[gInLen].Set(n)
	if n >= 8 {
		k.globals[gInLast].Set(n - 7)
	}
	return true
}

// room grows the memory to end if it is smaller, and reports whether it could.
func (k *Linked) room(end uint64) bool {
	size := uint64(k.mem.Size())
	if end <= size {
		return true
	}
	pages := pagesFor(end)
	if pages > MaxPages {
		return false
	}
	_, ok := k.mem.Grow(uint32(pages - size/PageSize))
	return ok
}

// Alloc implements Kernel.
func (k *Linked) Alloc(ctx context.Context, n uint64) (uint64, error) {
	if k.alloc == nil { // making one costs 12 KB, and few guests need it
		k.alloc = k.mod.ExportedFunction("alloc")
	}
	k.stack[0] = n
	if err := k.alloc.CallWithStack(ctx, k.stack[:]); err != nil {
		return 0, err
	}
	return k.stack[0], nil
}

// Length implements Kernel.
func (k *Linked) Length(off uint64) uint64 {
	if off-first >= k.globals[gPos].Get()-first {
		return 0
	}
	if tag, ok := k.mem.ReadUint64Le(uint32(off - 8)); !ok || tag != off^cookie {
		return 0
	}
	n, _ := k.mem.ReadUint32Le(uint32(off - header))
	return uint64(n)
}

// Bytes implements Kernel.
func (k *Linked) Bytes(off uint64) ([]byte, bool) {
	n := k.Length(off)
	if n == 0 {
		return nil, false
	}
	b := part(k.view(k.globals[gPos].Get()), off, n)
	return b, b != nil
}

// Output implements Kernel.
func (k *Linked) Output() (off, n uint64, view []byte) {
	off, n = k.globals[gOutOff].Get(), k.globals[gOutLen].Get()
	return off, n, part(k.view(k.globals[gPos].Get()), off, n)
}

// Failure implements Kernel.
func (k *Linked) Failure() []byte {
	n := k.globals[gErrLen].Get()
	if n == 0 {
		return nil
	}
	return part(k.view(k.globals[gPos].Get()), k.globals[gErrOff].Get(), n)
}

// Refused implements Kernel.
func (k *Linked) Refused() bool { return k.globals[gRefused].Get() != 0 }

// Debt implements Kernel.
func (k *Linked) Debt() int64 { return int64(k.globals[gDebt].Get()) }

// Settle implements Kernel.
func (k *Linked) Settle() { k.globals[gDebt].Set(0) }

// Size implements Kernel.
func (k *Linked) Size() int64 { return int64(k.mem.Size()) }

// Close implements Kernel. Closing an instance frees its memory.
func (k *Linked) Close() {
	_ = k.mod.Close(context.Background()) // an instance without files closes without error
}
