package wasmbin

import (
	"errors"
	"fmt"
	"strings"
)

// The kinds of errors, for errors.Is. Every error of this package wraps exactly one of them.
var (
	// ErrNotWasm: the bytes are no WebAssembly at all (empty, another file
	// format, text).
	ErrNotWasm = errors.New("not a WebAssembly module")
	// ErrComponent: the bytes are a WebAssembly component, not a core module.
	ErrComponent = errors.New("a WebAssembly component, not a core module")
	// ErrTruncated: the module ends before all of its announced content.
	ErrTruncated = errors.New("truncated module")
	// ErrMalformed: the bytes break the binary format.
	ErrMalformed = errors.New("malformed module")
	// ErrUnsupported: a feature of WebAssembly that this package refuses by name.
	ErrUnsupported = errors.New("unsupported feature")
	// ErrLimit: something is larger than a limit of the host; the error is a
	// *LimitError.
	ErrLimit = errors.New("limit exceeded")
	// ErrReserved: the module uses a name that belongs to the host.
	ErrReserved = errors.New("reserved name")
)

// FormatError is an error in the bytes of a module. It wraps one of ErrNotWasm,
// ErrComponent, ErrTruncated, ErrMalformed, ErrUnsupported and ErrReserved.
type FormatError struct {
	// Kind is the sentinel that the error wraps.
	Kind error
	// Offset is the place of the error in bytes from the start of the file, -1 if the
	// error concerns the whole file.
	Offset int
	// Section is the name of the section at the offset, such as "code"; may be empty.
	Section string
	// Detail describes the bytes that are wrong.
	Detail string
	// Remedy says what the author can do; may be empty.
	Remedy string
}

// Error returns one line: kind, place, detail and remedy.
func (e *FormatError) Error() string {
	var b strings.Builder
	b.WriteString(e.Kind.Error())
	if e.Section != "" {
		fmt.Fprintf(&b, ": %s section", e.Section)
	}
	if e.Offset >= 0 {
		fmt.Fprintf(&b, " at offset %d", e.Offset)
	}
	if e.Detail != "" {
		fmt.Fprintf(&b, ": %s", e.Detail)
	}
	if e.Remedy != "" {
		fmt.Fprintf(&b, " (%s)", e.Remedy)
	}
	return b.String()
}

// Unwrap returns the kind, for errors.Is.
func (e *FormatError) Unwrap() error { return e.Kind }

// LimitError is the error for a part of a module that is larger than allowed. It wraps
// ErrLimit.
type LimitError struct {
	// What names the limited part, such as "functions", "function 17 body" or "memory
	// minimum".
	What string
	// Value is the size of that part in the module, Max the allowed size, both in Unit.
	Value, Max uint64
	// Unit is the unit of both, such as "bytes" or "pages"; may be empty for counts.
	Unit string
	// CompileOnly is set if the module would harm only the compiler. The interpreter can
	// run it, see [InterpreterBounds].
	CompileOnly bool
	// Remedy says what the author or operator can do; may be empty.
	Remedy string
}

// Error returns one line that names both sizes.
func (e *LimitError) Error() string {
	s := fmt.Sprintf("limit exceeded: %s: %s, allowed %s", e.What, e.size(e.Value), e.size(e.Max))
	if e.Remedy != "" {
		s += " (" + e.Remedy + ")"
	}
	return s
}

func (e *LimitError) size(v uint64) string {
	switch e.Unit {
	case "":
		return fmt.Sprint(v)
	case "pages":
		return fmt.Sprintf("%d pages (%s)", v, mebibytes(v*PageSize))
	}
	return fmt.Sprintf("%d %s", v, e.Unit)
}

func mebibytes(n uint64) string {
	if n%(1<<20) == 0 {
		return fmt.Sprintf("%d MiB", n>>20)
	}
	return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
}

// Unwrap returns ErrLimit, for errors.Is.
func (e *LimitError) Unwrap() error { return ErrLimit }
