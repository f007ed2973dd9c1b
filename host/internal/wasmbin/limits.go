package wasmbin

import (
	"math"
	"time"
)

// PageSize is the size of a page of linear memory in bytes.
const PageSize = 65536

// MaxPages is the number of pages a 32-bit memory can address.
const MaxPages = 65536

// The limits of a module. Compiling is work that the guest's author causes and the host
// pays for, before any fuel is counted, so the limits bound it.
const (
	// MaxSize bounds the file, in bytes. The largest language runtimes
	// (CPython, a Go program with the net/http stack) stay under 40 MiB.
	MaxSize = 64 << 20
	// MaxFunctions bounds the module's own functions. A 3.3 MB Go module has
	// 3,000; CPython has 15,000.
	MaxFunctions = 100_000
	// MaxBodySize bounds one function body, in bytes. Large interpreter loops have 100 to
	// 300 KB. The compile time of a body grows faster than its size.
	MaxBodySize = 512 << 10
	// MaxLocals bounds the parameters and locals of one function. Browsers allow the same
	// number. The engine allocates memory for the declared number.
	MaxLocals = 50_000
	// MaxLocalBlocks bounds the estimate of one function's compile time, which is mostly
	// its locals times its blocks. Two million take one to two seconds. SQLite's largest
	// function has 240,000. 3,000 locals and 3,000 loops took two minutes and 4 GB.
	MaxLocalBlocks = 2_000_000
	// MaxTotalBlocks bounds the sum of that estimate over all functions, so that
	// many functions below the limit do not add up to minutes.
	MaxTotalBlocks = 30_000_000
	// MaxDeclared bounds the number of types, and likewise of imports, tables, globals,
	// exports and segments. Some take a thousand times as much memory as
	// in the file. Browsers allow the same number of data segments.
	MaxDeclared = 100_000
	// MaxCustoms bounds the number of custom sections, and MaxCustomName the name of each in
	// bytes. Their names and sizes are held as long as the module is.
	MaxCustoms = 1000
	// MaxCustomName: see MaxCustoms.
	MaxCustomName = 1000
	// MaxArity bounds the parameters of a type, and likewise its results. Browsers allow
	// the same number. One instruction moves all of them.
	MaxArity = 1_000
	// MaxVectors is the most mutable globals of type v128 that are opened to the host.
	// Each needs two functions, whose handles take 25 KB in every instance.
	MaxVectors = 64
	// MaxDepth bounds the nesting of blocks. Generated br_table cascades reach
	// a few thousand.
	MaxDepth = 20_000
	// LoadMemory and LoadMemoryPerByte give the default bound of the memory for loading a
	// module, in bytes: LoadMemory plus LoadMemoryPerByte for each byte of its code.
	LoadMemory = 300 << 20
	// LoadMemoryPerByte: see LoadMemory.
	LoadMemoryPerByte = 20
	// LoadTime and LoadTimePerMiB give the default bound of the time for loading a module:
	// LoadTime, or LoadTimePerMiB for each MiB of its code if that is longer. A MiB of a
	// stock Go guest takes 0.7 s.
	LoadTime = 5 * time.Second
	// LoadTimePerMiB: see LoadTime.
	LoadTimePerMiB = 2 * time.Second
	// MaxTable is the default cap on the elements of all tables together, and the bound of
	// the elements of all segments together. A stock Go guest has 6,000, CPython 12,000.
	// The engine has no limit, and 100 million elements took 764 MiB.
	MaxTable = 1 << 20
	// InterpretedCalls is how many calls the engine's interpreter nests.
	InterpretedCalls = 2000
)

// Bounds are the limits that Meter applies to a module. A field that is 0 means the constant
// of the same name, with the prefix Max.
type Bounds struct {
	// Size bounds the file, in bytes.
	Size int
	// Functions bounds the module's own functions.
	Functions int
	// BodySize bounds one function body, in bytes.
	BodySize int
	// Locals bounds the parameters and locals of one function.
	Locals int
	// LocalBlocks bounds the estimate of one function's compile time.
	LocalBlocks int
	// TotalBlocks bounds the sum of that estimate over all functions.
	TotalBlocks int
	// Depth bounds the nesting of blocks.
	Depth int
}

// InterpreterBounds returns the bounds for a module that is interpreted and not compiled.
// They omit the bounds that protect only the compiler.
func InterpreterBounds() Bounds {
	return Bounds{BodySize: MaxSize, LocalBlocks: math.MaxInt, TotalBlocks: math.MaxInt}
}

func (b Bounds) withDefaults() Bounds {
	def := func(v *int, d int) {
		if *v <= 0 {
			*v = d
		}
	}
	def(&b.Size, MaxSize)
	def(&b.Functions, MaxFunctions)
	def(&b.BodySize, MaxBodySize)
	def(&b.Locals, MaxLocals)
	def(&b.LocalBlocks, MaxLocalBlocks)
	def(&b.TotalBlocks, MaxTotalBlocks)
	def(&b.Depth, MaxDepth)
	return b
}
