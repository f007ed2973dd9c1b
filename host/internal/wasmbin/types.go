package wasmbin

import (
	"fmt"
	"strings"
	"time"
)

// ValueType is the type of a WebAssembly value, in its binary encoding.
type ValueType byte

// The value types of core WebAssembly 2.0 and of the exception proposal.
const (
	I32       ValueType = 0x7f
	I64       ValueType = 0x7e
	F32       ValueType = 0x7d
	F64       ValueType = 0x7c
	V128      ValueType = 0x7b
	FuncRef   ValueType = 0x70
	ExternRef ValueType = 0x6f
	ExnRef    ValueType = 0x69
)

// known reports whether t is one of the constants above.
func (t ValueType) known() bool {
	switch t {
	case I32, I64, F32, F64, V128, FuncRef, ExternRef, ExnRef:
		return true
	}
	return false
}

// reference reports whether the encoding of a typed reference begins with t.
func (t ValueType) reference() bool { return t == 0x63 || t == 0x64 }

// String returns the name in the text format, such as "i32".
func (t ValueType) String() string {
	switch t {
	case I32:
		return "i32"
	case I64:
		return "i64"
	case F32:
		return "f32"
	case F64:
		return "f64"
	case V128:
		return "v128"
	case FuncRef:
		return "funcref"
	case ExternRef:
		return "externref"
	case ExnRef:
		return "exnref"
	}
	return fmt.Sprintf("valuetype(%#x)", byte(t))
}

// FuncType is the signature of a function.
type FuncType struct {
	Params, Results []ValueType
}

// String returns the signature in the form "(i32, i64) -> (i32)".
func (f FuncType) String() string {
	return "(" + joinTypes(f.Params) + ") -> (" + joinTypes(f.Results) + ")"
}

func joinTypes(ts []ValueType) string {
	names := make([]string, len(ts))
	for i, t := range ts {
		names[i] = t.String()
	}
	return strings.Join(names, ", ")
}

// Kind is the kind of an import or export, in its binary encoding.
type Kind byte

// The kinds of imports and exports.
const (
	KindFunc   Kind = 0
	KindTable  Kind = 1
	KindMemory Kind = 2
	KindGlobal Kind = 3
	KindTag    Kind = 4
)

// String returns "func", "table", "memory", "global" or "tag".
func (k Kind) String() string {
	names := [...]string{"func", "table", "memory", "global", "tag"}
	if int(k) < len(names) {
		return names[k]
	}
	return fmt.Sprintf("kind(%d)", byte(k))
}

// Limits are the declared size of a memory, in pages, or of a table, in elements.
type Limits struct {
	Min uint64
	// Max is meaningful only when HasMax is set.
	Max    uint64
	HasMax bool
	// Shared marks a memory shared between threads.
	Shared bool
}

// TableType is the declaration of a table.
type TableType struct {
	Elem   ValueType
	Limits Limits
}

// GlobalType is the declaration of a global.
type GlobalType struct {
	Type    ValueType
	Mutable bool
}

// Extern is the type of an import or export. Kind decides which of the other fields is
// meaningful.
type Extern struct {
	Kind   Kind
	Func   FuncType
	Table  TableType
	Memory Limits
	Global GlobalType
}

// Import is one import, in the order of the module.
type Import struct {
	Module, Name string
	Extern
}

// Export is one export, in the order of the module.
type Export struct {
	Name string
	// Index is the index in the index space of its kind, imports first.
	Index uint32
	Extern
}

// CustomSection is one custom section. Data is its content and aliases the bytes given to Inspect.
type CustomSection struct {
	Name string
	// At is where the section begins in the file, Length is its length, both in bytes.
	At, Length int
	// Size is that of its content, without the name.
	Size int
	Data []byte
}

// Uses reports which groups of instructions and declarations appear anywhere in the
// module.
type Uses struct {
	// TableWrites: table.set, table.grow, table.fill, table.copy or table.init.
	TableWrites bool
	// TableGrow: table.grow.
	TableGrow bool
	// SegmentDrops: elem.drop or data.drop.
	SegmentDrops bool
	// MemoryInit: memory.init.
	MemoryInit bool
	// MemoryGrow: memory.grow.
	MemoryGrow bool
	// BulkMemory: memory.fill or memory.copy.
	BulkMemory bool
	// SIMD: vector instructions.
	SIMD bool
	// TailCalls: return_call or return_call_indirect.
	TailCalls bool
	// Threads: atomic instructions or a shared memory.
	Threads bool
	// Exceptions: tags, throw or try blocks.
	Exceptions bool
}

// Info describes a module, as found without running or compiling it.
type Info struct {
	// Size is the size of the file in bytes.
	Size int
	// Imports and Exports, in the order of the module.
	Imports []Import
	Exports []Export
	// Memories, Tables and Globals are the module's own, without imports.
	Memories []Limits
	Tables   []TableType
	Globals  []GlobalType
	// Start is the index of the start function, meaningful when HasStart is set.
	Start    uint32
	HasStart bool
	// Functions is the number of the module's own functions, CodeSize the size
	// of the code section in bytes.
	Functions, CodeSize int
	// DataSegments and ElemSegments count the segments, DataBytes the bytes in data segments.
	DataSegments, DataBytes, ElemSegments int
	// Customs are the custom sections, in the order of the module.
	Customs []CustomSection
	Uses    Uses
	// Compiled and Interpreted estimate what each engine needs to make the module ready.
	Compiled, Interpreted Estimate
	// Frame is an upper bound for the bytes that one call takes of the interpreter's
	// stack. FrameFunc is the index of the function that takes most.
	Frame     uint64
	FrameFunc uint32
	// Code is equal in modules that differ in nothing but data that [Prepare] takes out of them, and
	// custom sections. It is zero if Prepare takes no data out.
	Code [32]byte
}

// Export returns the export of that name, if there is one.
func (i *Info) Export(name string) (Export, bool) {
	for _, e := range i.Exports {
		if e.Name == name {
			return e, true
		}
	}
	return Export{}, false
}

// CountCustom returns how many custom sections have that name.
func (i *Info) CountCustom(name string) (n int) {
	for _, c := range i.Customs {
		if c.Name == name {
			n++
		}
	}
	return n
}

// Custom returns the content of the first custom section of that name.
func (i *Info) Custom(name string) ([]byte, bool) {
	for _, c := range i.Customs {
		if c.Name == name {
			return c.Data, true
		}
	}
	return nil, false
}

// Estimate is an upper bound, derived from measurements, of the memory and time that an
// engine needs to make a metered module ready to run, with one goroutine.
type Estimate struct {
	// Memory is the peak in bytes. Time is the time of one processor of about 3 GHz.
	Memory int64
	Time   time.Duration
	// Mostly names the part of the module that needs most of the memory, Longest the one
	// that needs most of the time.
	Mostly, Longest string
}
