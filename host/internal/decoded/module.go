// Package decoded holds what the host needs of a decoded module to load and link it.
package decoded

import (
	"crypto/sha256"
	"math"
	"slices"

	"github.com/anchor-host/anchor-host/host/internal/offered"
	"github.com/anchor-host/anchor-host/host/internal/wasmbin"
)

// Module is a decoded module. Plugins share it, so it must not be changed.
type Module struct {
	// Digest is the SHA-256 of the module.
	Digest [sha256.Size]byte
	// Bytes returns the module, which may lie in a file. It fails if the file has changed.
	Bytes func() ([]byte, error)
	// Facts are what was found in the module's code.
	Facts wasmbin.Facts
	// CodeSize is the size of the module's code, in bytes.
	CodeSize int
	// Functions are the types of the exported functions, by name. Memories are the limits of
	// the memory under each name that it is exported by.
	Functions map[string]wasmbin.FuncType
	Memories  map[string]wasmbin.Limits
	// Imports are all imports.
	Imports []wasmbin.Import
	// Tables is the most elements that the tables of an instance have together.
	Tables uint64
	// Memory says that the module has a memory of its own.
	Memory bool
}

// Exports reports whether the module exports a function of that name.
func (m *Module) Exports(name string) bool {
	_, ok := m.Functions[name]
	return ok
}

// Kernel reports whether the module imports functions of Extism.
func (m *Module) Kernel() bool { return slices.ContainsFunc(m.Imports, offered.Kernel) }

// ImportsFrom reports whether the module imports anything from the named module.
func (m *Module) ImportsFrom(module string) bool {
	return slices.ContainsFunc(m.Imports, func(im wasmbin.Import) bool { return im.Module == module })
}

// BorrowsFrom is the name of the module that the memory is imported from, "" if it is not
// imported.
func (m *Module) BorrowsFrom() string {
	for _, im := range m.Imports {
		if im.Kind == wasmbin.KindMemory {
			return im.Module
		}
	}
	return ""
}

// Linkable reports whether the module imports anything besides WASI, which a kernel, a link or
// the embedder offers.
func (m *Module) Linkable() bool {
	return slices.ContainsFunc(m.Imports, func(im wasmbin.Import) bool { return im.Module != offered.WASI })
}

// InterpretedStack is the most stack that calls of an interpreted instance take, in bytes.
func (m *Module) InterpretedStack() int64 {
	return int64(min(m.Facts.Frame, math.MaxInt64/wasmbin.InterpretedCalls)) * wasmbin.InterpretedCalls
}
