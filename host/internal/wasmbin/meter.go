package wasmbin

import "fmt"

// Names and sizes of the metering contract between a rewritten module and its host.
const (
	// TickModule and TickName are the default import through which a metered
	// module asks for fuel: () -> i64, the next slice.
	TickModule = "anchor:meter"
	TickName   = "tick"
	// FuelExport is the default export name of the fuel counter, a mutable i64 global.
	FuelExport = "anchor:fuel"
	// DefaultSlice is a good slice for tick to return: small enough that a
	// guest reaches the host every few dozen microseconds and that bulk operations of
	// 64 KiB and more always reach it before they run; large enough that the
	// host calls take well under 1 % of the time.
	DefaultSlice = 1 << 16
)

// MeterOptions configures [Meter]. The zero value works.
type MeterOptions struct {
	// TickModule and TickName name the import that is added; empty means the
	// constants of the same name. A guest that imports anything from the module
	// TickModule is refused.
	TickModule, TickName string
	// FuelExport is the export name of the counter; empty means the constant of
	// the same name. A guest that exports that name is refused.
	FuelExport string
	// MaxMemoryPages caps the declared maximum of the module's own memory, in
	// pages of 64 KiB. Zero leaves it as it is. A larger minimum is refused.
	MaxMemoryPages uint32
	// MaxTable caps the declared maximum of the module's own tables, in elements of
	// all of them together; zero means the constant MaxTable. Where they begin with
	// more the module is refused; what is left is shared out evenly.
	MaxTable uint32
	// Bounds are the limits on the module's size; zero fields mean the
	// constants. A module beyond them is refused with a *LimitError; when that is
	// CompileOnly, the caller may try again with InterpreterBounds and interpret.
	Bounds Bounds
	// Light says which imported functions take so little time that a call of
	// them weighs hardly more than one within the module. nil: none.
	Light func(module, name string) bool
	// Inert says which of those call nothing of the guest, whatever it is linked
	// to. A short function that calls few others does without a check. nil: none.
	Inert func(module, name string) bool
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

// Meter returns the module rewritten so that its work is counted and can be
// stopped. The package documentation describes fuel and the contract with the
// host. The output depends on nothing but bin and the options.
//
// Sections that refer to places in the code (DWARF, source maps) are dropped; of
// the name section the module's and the functions' names are kept. Threads,
// exceptions, and what [Inspect] refuses are refused.
func Meter(bin []byte, o MeterOptions) ([]byte, error) {
	o = o.withDefaults()
	m, err := o.admitted(bin)
	if err != nil {
		return nil, err
	}
	return newRewriter(m, o, windowWeight, straightWeight).rewrite()
}

// admitted decodes a module and holds what it declares against the options.
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

// admit refuses a module by what it declares.
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

// tableElements is what all tables have at the start.
func (m *module) tableElements() uint64 { return elements(m.tables) }

func elements(tables []TableType) (n uint64) {
	for _, t := range tables {
		n += t.Limits.Min
	}
	return n
}

// largest is the most that a table has which may grow by more.
func (l Limits) largest(more uint64) uint64 {
	if l.HasMax && l.Max < l.Min+more {
		return l.Max
	}
	return l.Min + more
}

// TableElements is the most elements that the module's own tables can have together in an
// instance that was metered with most as [MeterOptions.MaxTable]: as many as they begin
// with, if nothing in the module makes them grow.
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
