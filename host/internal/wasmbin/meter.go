package wasmbin

import (
	"fmt"
	"iter"
)

// Names and sizes of the metering contract between a rewritten module and its host.
const (
	// TickModule and TickName are the default import through which a metered
	// module asks for fuel: () -> i64, the next slice.
	TickModule = "anchor:meter"
	TickName   = "tick"
	// FuelExport is the default export name of the fuel counter, a mutable i64 global.
	FuelExport = "anchor:fuel"
	// DefaultSlice is a good slice for tick to return, in units of fuel. It is so small
	// that a guest calls the host every few dozen microseconds, and that bulk operations
	// of 64 KiB and more always call it before they run. It is so large that the calls of
	// the host take well under 1 % of the time.
	DefaultSlice = 1 << 16
)

// MeterOptions configures [Meter]. The zero value works.
type MeterOptions struct {
	// TickModule and TickName name the added import; empty means the constants of the
	// same name. Meter refuses a guest that imports anything from the module TickModule.
	TickModule, TickName string
	// FuelExport is the export name of the counter; empty means the constant of the same
	// name. Meter refuses a guest that exports that name.
	FuelExport string
	// MaxMemoryPages caps the declared maximum of the module's own memory, in pages of
	// 64 KiB; 0 means no cap. Meter refuses a module with a larger minimum.
	MaxMemoryPages uint32
	// MaxTable caps the declared maximums of the module's own tables, in elements of all
	// tables together; 0 means the constant MaxTable. Meter refuses a module whose
	// minimums exceed it, and lets all tables grow by the same number of elements.
	MaxTable uint32
	// Bounds are the limits on the module's size; zero fields mean the constants. Meter
	// refuses a larger module with a *LimitError. If that is CompileOnly, the caller may
	// try again with InterpreterBounds and interpret the module.
	Bounds Bounds
	// Light reports whether an imported function takes so little time that a call of it
	// weighs hardly more than a call within the module. nil: no function does.
	Light func(module, name string) bool
	// Inert reports whether a light function never calls the guest, whatever the guest is
	// linked to. A short function that calls only a few inert ones has no check. nil: no
	// function is inert.
	Inert func(module, name string) bool
	// Trace are sections that are added at the end: debug information, without which engines
	// do not name the offsets of instructions in stacks, see [Original].
	Trace []byte
}

func (o MeterOptions) withDefaults() MeterOptions {
	def := func(s *string, d string) {
		if *s == "" {
			*s = d
		}
	}
	def(&o.TickModule, TickModule)
	def(&o.TickName, TickName)
	def(&o.FuelExport, FuelExport)
	if o.MaxTable == 0 {
		o.MaxTable = MaxTable
	}
	o.Bounds = o.Bounds.withDefaults()
	return o
}

// admitted decodes a module and checks its declarations against the options.
func (o *MeterOptions) admitted(bin []byte) (*module, error) {
	if len(bin) > o.Bounds.Size {
		return nil, &LimitError{What: "module size", Value: uint64(len(bin)), Max: uint64(o.Bounds.Size), Unit: "bytes",
			Remedy: "strip debug information, for Go with -ldflags=\"-s -w\""}
	}
	m, err := parse(bin)
	if err != nil {
		return nil, err
	}
	m.findLight(o)
	return m, m.admit(o)
}

// admit refuses a module whose declarations are not allowed.
func (m *module) admit(o *MeterOptions) error {
	switch {
	case m.info.Uses.Threads:
		return unsupported("a shared memory (threads)", "build without threads")
	case m.info.Uses.Exceptions:
		return unsupported("exception tags (exception handling)", "build without exceptions, for C++ with -fno-exceptions")
	case m.info.Functions > o.Bounds.Functions:
		return &LimitError{What: "functions", Value: uint64(m.info.Functions), Max: uint64(o.Bounds.Functions)}
	}
	for _, im := range m.info.Imports {
		if im.Module == o.TickModule {
			return reserved(fmt.Sprintf("import of %q from %q, which belongs to the host", im.Name, im.Module), "remove the import")
		}
	}
	if _, ok := m.info.Export(o.FuelExport); ok {
		return reserved(fmt.Sprintf("export %q, which belongs to the host", o.FuelExport), "rename the export")
	}
	return m.admitSizes(o)
}

func (m *module) admitSizes(o *MeterOptions) error {
	for _, l := range m.memories {
		if o.MaxMemoryPages != 0 && l.Min > uint64(o.MaxMemoryPages) {
			return &LimitError{What: "memory minimum", Value: l.Min, Max: uint64(o.MaxMemoryPages), Unit: "pages",
				Remedy: "grant the plugin more memory, or link it with a smaller initial memory"}
		}
	}
	for i, t := range m.tables {
		if t.Limits.Min > uint64(o.MaxTable) {
			return &LimitError{What: fmt.Sprintf("table %d minimum", i), Value: t.Limits.Min, Max: uint64(o.MaxTable), Unit: "elements"}
		}
	}
	if n := m.tableElements(); n > uint64(o.MaxTable) {
		return &LimitError{What: "minimum of all tables", Value: n, Max: uint64(o.MaxTable), Unit: "elements"}
	}
	return nil
}

// tableElements returns the number of elements that all tables have at the start.
func (m *module) tableElements() uint64 { return elements(m.tables) }

func elements(tables []TableType) (n uint64) {
	for _, t := range tables {
		n += t.Limits.Min
	}
	return n
}

// largest returns the most elements that a table with these limits can have if it may grow
// by more elements.
func (l Limits) largest(more uint64) uint64 {
	if l.HasMax && l.Max < l.Min+more {
		return l.Max
	}
	return l.Min + more
}

// TableElements returns the most elements that the module's own tables can have together
// if the module was metered with most as [MeterOptions.MaxTable]. If the module never
// grows a table, that is the number of elements at the start.
func (i *Info) TableElements(most uint64) uint64 {
	n := elements(i.Tables)
	if !i.Uses.TableGrow || n >= most {
		return n
	}
	total := uint64(0)
	for _, t := range i.Tables {
		total += t.Limits.largest((most - n) / uint64(len(i.Tables)))
	}
	return total
}

func unsupported(detail, remedy string) error {
	return &FormatError{Kind: ErrUnsupported, Offset: -1, Detail: detail, Remedy: remedy}
}

func reserved(detail, remedy string) error {
	return &FormatError{Kind: ErrReserved, Offset: -1, Detail: detail, Remedy: remedy}
}

// The names of the exports that [Prepare] adds for the host. It refuses modules that export
// a name with this prefix, so that no export of a guest can replace them. Guests cannot
// import them as long as the host offers only modules of its own for import.
const (
	// HostPrefix is the beginning of all export names that belong to the host.
	HostPrefix = "anchor:"
	// GlobalPrefix, followed by the index of a mutable global, is its export name.
	GlobalPrefix = HostPrefix + "global:"
	// VectorPrefix, followed by the index of a mutable global of type v128, begins the
	// export names of the two functions that read and set it.
	VectorPrefix = HostPrefix + "vector:"
	// DeniedExport is the export name of a mutable i32 global that becomes 1 when the
	// guest is refused more memory.
	DeniedExport = HostPrefix + "denied"
	// StartExport is the export name of the module's start function.
	StartExport = HostPrefix + "start"
)

// Prepared is a metered module whose state the host can read and set.
type Prepared struct {
	// Wasm is the module. It exports the fuel counter, DeniedExport, Globals and, if Start
	// is set, its start function. It has no active data segments if Lifted is set.
	Wasm []byte
	// Globals are the export names of those of the module's own mutable globals that are
	// numbers.
	Globals []string
	// Vectors are the export names of the functions that read and set the module's own
	// mutable globals of type v128.
	Vectors []Vector
	// Start reports that the host must call StartExport once, before anything else. The
	// engine does not call it.
	Start bool
	// Lifted reports that the data segments are not in Wasm but in Data, in the order in
	// which the host must write them to a new memory. They alias the bytes given to
	// Prepare.
	Lifted bool
	Data   Data `json:"-"`
}

// Vector names two exported functions: Get, () -> (low, high i64), and Set,
// (low, high i64) -> ().
type Vector struct{ Get, Set string }

// Data are active data segments that lie within the minimum of the memory. They are stored
// as offsets in the module: a stock Go guest has tens of thousands of them, and the garbage
// collector would follow a slice for each.
type Data struct {
	bin      []byte
	segments []segment
}

// segment is a data segment. offset is its address in the memory. Its bytes are at offset
// at of the module.
type segment struct{ offset, at, size uint32 }

// Segments returns the address and the bytes of each data segment.
func (d Data) Segments() iter.Seq2[uint32, []byte] {
	return func(yield func(uint32, []byte) bool) {
		for _, s := range d.segments {
			if !yield(s.offset, d.bin[s.at:s.at+s.size]) {
				return
			}
		}
	}
}

// apart returns the segments with their bytes alone, so that the rest of the module can be freed.
func (d Data) apart() Data {
	size := uint32(0)
	for _, s := range d.segments {
		size += s.size
	}
	bin := make([]byte, 0, size)
	for i := range d.segments {
		s := &d.segments[i]
		b := d.bin[s.at : s.at+s.size]
		s.at = uint32(len(bin))
		bin = append(bin, b...)
	}
	return Data{bin, d.segments}
}

// Len returns the number of data segments.
func (d Data) Len() int { return len(d.segments) }
