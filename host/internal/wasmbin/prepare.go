package wasmbin

import (
	"fmt"
	"strconv"
	"strings"
)

// Prepare meters a module as [Meter] does and opens its state to the host. It exports all
// mutable globals. The start function becomes an export, which the host calls once per
// image; the engine would call it once per instance. Prepare removes the data segments if
// no code refers to one and all of them have a constant address. Together with the memory,
// the module's own or the imported one, this is the whole state of a module, unless
// [Info.Uncaptured] says why it is not.
func Prepare(bin []byte, o MeterOptions) (*Prepared, error) {
	w, err := o.rewriter(bin)
	if err != nil {
		return nil, err
	}
	w.open.Wasm, err = w.rewrite()
	if err != nil {
		return nil, err
	}
	return w.open, nil
}

// rewriter returns a rewriter for Prepare.
func (o MeterOptions) rewriter(bin []byte) (*rewriter, error) {
	o = o.withDefaults()
	m, err := o.admitted(bin)
	if err != nil {
		return nil, err
	}
	return m.opened(o)
}

// opened returns a rewriter that opens the state of the module to the host.
func (m *module) opened(o MeterOptions) (*rewriter, error) {
	for _, e := range m.info.Exports {
		if strings.HasPrefix(e.Name, HostPrefix) {
			return nil, reserved(fmt.Sprintf("export %q, which belongs to the host", e.Name), "rename the export")
		}
	}
	w := newRewriter(m, o, windowWeight, straightWeight)
	w.open = &Prepared{Start: m.info.HasStart && int(m.info.Start) >= m.imported[KindFunc]}
	for _, i := range m.mutableGlobals(ValueType.number) {
		w.open.Globals = append(w.open.Globals, GlobalPrefix+strconv.Itoa(int(i)))
	}
	if w.vectors = m.mutableGlobals(func(t ValueType) bool { return t == V128 }); len(w.vectors) > MaxVectors {
		w.vectors = nil // see Uncaptured
	}
	for _, i := range w.vectors {
		name := VectorPrefix + strconv.Itoa(int(i))
		w.open.Vectors = append(w.open.Vectors, Vector{name + ":get", name + ":set"})
	}
	var err error
	w.open.Data, w.open.Lifted, err = m.liftable()
	return w, err
}

// Lifted returns the Data that [Prepare] returns for a module, without the rest of it. Prepare
// must have accepted the module, and f must be its facts.
func Lifted(bin []byte, f Facts) (Data, error) {
	m, err := parseKnown(bin, f)
	if err != nil {
		return Data{}, err
	}
	d, _, err := m.liftable()
	return d.apart(), err
}

// Uncaptured returns the reason why the state of the module is more than its memory and its
// globals that are numbers or v128. It returns "" if it is not more.
func (i *Info) Uncaptured() string {
	switch {
	case i.Uses.TableWrites:
		return "its code writes to tables"
	case i.Uses.SegmentDrops:
		return "its code drops segments"
	}
	vectors := 0
	for _, g := range i.Globals {
		switch {
		case !g.Mutable || g.Type.number():
		case g.Type == V128:
			vectors++
		default:
			return fmt.Sprintf("it has a mutable global of type %v", g.Type)
		}
	}
	if vectors > MaxVectors {
		return fmt.Sprintf("it has %d mutable globals of type v128, captured are at most %d", vectors, MaxVectors)
	}
	for _, im := range i.Imports { // an imported memory is captured with its owner
		if im.Kind != KindFunc && im.Kind != KindMemory && (im.Kind != KindGlobal || im.Global.Mutable) {
			return fmt.Sprintf("it imports a %v", im.Kind)
		}
	}
	return ""
}

// number reports whether a value of the type fits into 64 bits and has the same meaning in
// every instance.
func (t ValueType) number() bool { return t == I32 || t == I64 || t == F32 || t == F64 }

// mutableGlobals returns the indices of the module's own mutable globals whose types are
// wanted.
func (m *module) mutableGlobals(wanted func(ValueType) bool) []uint32 {
	var out []uint32
	for i := m.imported[KindGlobal]; i < len(m.globals); i++ {
		if g := m.globals[i]; g.Mutable && wanted(g.Type) {
			out = append(out, uint32(i))
		}
	}
	return out
}

// liftable returns the active data segments if the module does not need them: no code names
// a segment, and each has a constant address within the memory. Otherwise it returns none.
func (m *module) liftable() (d Data, lifted bool, err error) {
	r, ok := m.content(secData)
	if !ok || m.imported[KindMemory] > 0 || len(m.memories) != 1 {
		return Data{}, false, nil
	}
	if m.dataCount >= 0 { // without a count, code cannot name segments
		if err := m.inspectBodies(); err != nil {
			return Data{}, false, err
		}
		if m.info.Uses.MemoryInit || m.info.Uses.SegmentDrops {
			return Data{}, false, nil
		}
	}
	size := m.memories[0].Min * PageSize
	d = Data{m.bin, make([]segment, 0, m.info.DataSegments)}
	for n := r.u32("the data segments"); n > 0 && r.err == nil; n-- {
		flag := r.u32("a data segment")
		var at uint32
		if flag != 1 {
			if flag == 2 {
				r.u32("a memory index")
			}
			if at, ok = m.constant(&r); !ok {
				return Data{}, false, r.err
			}
		}
		b := r.take(r.u32("a data segment's size"), "a data segment")
		if flag == 1 { // passive, and no code names it
			continue
		}
		if uint64(at)+uint64(len(b)) > size {
			return Data{}, false, r.err // the engine refuses it by name
		}
		d.segments = append(d.segments, segment{at, uint32(r.pos - len(b)), uint32(len(b))})
	}
	return d, r.err == nil, r.err
}

// constant reads a constant expression that is one i32.const.
func (m *module) constant(r *reader) (uint32, bool) {
	if r.byte("a constant expression") != opI32Const {
		return 0, false
	}
	v := r.signed(32, "a constant")
	return uint32(v), r.err == nil && r.byte("the end of an expression") == opEnd && r.err == nil
}

// Meter returns the module, rewritten so that the host can count its work and stop it.
// The package documentation describes fuel and the contract with the host. The output
// depends on nothing but bin and the options.
//
// Of the custom sections Meter keeps the names of the module and of its functions. It refuses
// threads, exceptions, and whatever [Inspect] refuses.
func Meter(bin []byte, o MeterOptions) ([]byte, error) {
	o = o.withDefaults()
	m, err := o.admitted(bin)
	if err != nil {
		return nil, err
	}
	return newRewriter(m, o, windowWeight, straightWeight).rewrite()
}
