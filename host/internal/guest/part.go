package guest

import (
	"context"
	"errors"
	"fmt"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/host/internal/linear"
	"github.com/anchor-host/anchor-host/host/internal/wasmbin"
	"github.com/anchor-host/anchor-host/host/internal/wazerox"
	"github.com/anchor-host/anchor-host/internal/units"
)

// part is one module of an instance, the guest or one of its links, with its state: memory and
// globals.
type part struct {
	mod api.Module
	// mem is the memory that the module uses, nil if it has none. borrowed says that the
	// memory belongs to another part, which captures and resets it. lent says that other parts
	// use this part's memory. lin is never nil.
	mem      api.Memory
	borrowed bool
	lent     bool
	lin      *linear.Memory
	// filled says that the memory had the content of the image from the start.
	filled  bool
	fuel    api.MutableGlobal
	globals []api.MutableGlobal
	vectors []vector
}

// vector reads and sets a global of type v128.
type vector struct{ get, set api.Function }

// partImage is the state of a part after init. It does not change.
type partImage struct {
	// memory is nil if the module has no memory of its own.
	memory  *linear.Image
	globals []uint64
	vectors [][2]uint64
}

// find looks up the memory, the fuel counter and the mutable globals of the module.
func (m *part) find(of *Code) error {
	if mem := wazerox.MemoryOf(m.mod); mem != nil {
		m.mem, m.borrowed = mem, !of.Memory
	}
	var ok bool
	if m.fuel, ok = m.mod.ExportedGlobal(wasmbin.FuelExport).(api.MutableGlobal); !ok {
		return errors.New("the module lost its fuel counter")
	}
	for _, name := range of.Open.Globals {
		g, ok := m.mod.ExportedGlobal(name).(api.MutableGlobal)
		if !ok {
			return fmt.Errorf("the module lost its global %q", name)
		}
		m.globals = append(m.globals, g)
	}
	for _, name := range of.Open.Vectors {
		v := vector{m.mod.ExportedFunction(name.Get), m.mod.ExportedFunction(name.Set)}
		if v.get == nil || v.set == nil {
			return fmt.Errorf("the module lost %q", name.Get)
		}
		m.vectors = append(m.vectors, v)
	}
	return nil
}

// Size is the size of the memory that the module uses, in bytes, 0 if there is none.
func (m *part) Size() uint32 {
	if m.mem == nil {
		return 0
	}
	return m.mem.Size()
}

// Content is a view of the whole memory, nil if there is none.
func (m *part) Content() []byte {
	if m.mem == nil {
		return nil
	}
	b, _ := m.mem.Read(0, m.mem.Size())
	return b
}

// writeData writes the data segments that were taken out of the module.
func (m *part) writeData(of *Code) error {
	data, err := of.Segments()
	if err != nil || data.Len() == 0 { // a module without a memory has no data
		return err
	}
	mem := m.Content()
	for at, b := range data.Segments() {
		copy(mem[at:], b)
	}
	return nil
}

// capture makes the image of the part. memory makes that of its memory: linear.Capture or
// linear.Copy.
func (m *part) capture(memory func([]byte) *linear.Image) (*partImage, error) {
	im := &partImage{}
	for _, g := range m.globals {
		im.globals = append(im.globals, g.Get())
	}
	for _, v := range m.vectors {
		var value [2]uint64
		if err := v.get.CallWithStack(context.Background(), value[:]); err != nil {
			return nil, err
		}
		im.vectors = append(im.vectors, value)
	}
	if m.mem != nil && !m.borrowed {
		im.memory = memory(m.Content())
	}
	return im, nil
}

// grow makes a new memory as large as the image's.
func (m *part) grow(im *partImage) error {
	if im.memory == nil {
		return nil
	}
	size := uint32(im.memory.Size())
	if more := size - m.mem.Size(); more > 0 {
		if _, ok := m.mem.Grow(more / wasmbin.PageSize); !ok {
			return Faultf(abi.ReasonMemory, "no room for the state after init, %s", units.FormatSize(int64(size)))
		}
	}
	return nil
}

// fill puts a new part, whose memory has the size of the image's, into the state of the image.
func (m *part) fill(im *partImage, of *Code) error {
	switch {
	case im.memory == nil:
	case !of.Open.Lifted, m.lent: // the engine wrote data segments over the image
		im.memory.Restore(m.Content())
	case !m.filled:
		im.memory.Fill(m.Content())
	}
	return m.setGlobals(im)
}

// restore resets the part to the image and reports whether it could. shrinks says that
// memories can be made smaller.
func (m *part) restore(im *partImage, shrinks bool) bool {
	if im.memory != nil {
		size := uint32(im.memory.Size())
		if m.mem.Size() != size && !shrinks {
			return false
		}
		if !m.lin.Restore(im.memory, m.Content()) {
			return false
		}
		if !wazerox.Shrink(m.mem, size) && m.mem.Size() != size {
			return false
		}
	}
	return m.setGlobals(im) == nil
}

func (m *part) setGlobals(im *partImage) error {
	for i, g := range m.globals {
		g.Set(im.globals[i])
	}
	for i, v := range m.vectors {
		value := im.vectors[i]
		if err := v.set.CallWithStack(context.Background(), value[:]); err != nil {
			return err
		}
	}
	return nil
}

// held is how much memory the image takes, in bytes.
func (im *partImage) held() int64 {
	if im.memory == nil {
		return 0
	}
	return im.memory.Held()
}

// free gives up the memory of the image.
func (im *partImage) free() {
	if im.memory != nil {
		im.memory.Free()
	}
}

// Code is a compiled module as instances use it: the guest or one of its links.
type Code struct {
	// Name is the module name that imports of a link state, "" for the guest.
	Name string
	// Compiled is the module as wazero compiled it.
	Compiled wazero.CompiledModule
	// Open says how the host accesses the state of instances. Segments returns the data
	// segments that were taken out of the module; the host writes them into new memories.
	Open     *wasmbin.Prepared
	Segments func() (wasmbin.Data, error)
	// Exports reports whether the original module exports a function of a name.
	Exports func(name string) bool
	// Memory says that the module has a memory of its own, and Lends that another module
	// imports it.
	Memory, Lends bool
	// Lines puts the lines of source of the module into a call stack. nil: it has none.
	Lines func(stack string) string
	// Stub stands for the link in modules made before it, and Filler fills the stub's table.
	// Both are nil if no module needs that.
	Stub, Filler wazero.CompiledModule
}

// starters are the exports that start a module's language runtime. Where both exist,
// _initialize calls the constructors itself.
func (c *Code) starters() []string {
	for _, name := range []string{"_initialize", "__wasm_call_ctors"} {
		if c.Exports(name) {
			return []string{name}
		}
	}
	return nil
}
