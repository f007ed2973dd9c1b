package compile

import (
	"crypto/sha256"
	"sync"
	"weak"

	"github.com/tetratelabs/wazero"

	"github.com/anchor-host/anchor-host/host/internal/wasmbin"
)

// Source is a module that is to be compiled, and what is known of it.
type Source struct {
	// Digest is the SHA-256 of the module. Bytes returns the module; it may read a file, and
	// returns an error if the file changed.
	Digest [sha256.Size]byte
	Bytes  func() ([]byte, error)
	// Facts are what wasmbin found in the code.
	Facts wasmbin.Facts
	// Imports are the imports of the module.
	Imports []wasmbin.Import
	// Memory says that the module has a memory of its own. Linked says that it imports anything
	// that an engine offers as a module.
	Memory, Linked bool
}

// need is the estimate of the memory that compiling the module takes, in bytes.
func (s *Source) need(interpreted bool) int64 {
	if interpreted {
		return s.Facts.Interpreted.Memory
	}
	return s.Facts.Compiled.Memory
}

// Module is a compiled module. Those who got it from a [Compiler] share it, and call
// [Compiler.Release] when they are done.
type Module struct {
	// Compiled is the module as wazero compiled it, and Engine the engine that did.
	Compiled wazero.CompiledModule
	Engine   *Engine
	// Source is the digest of the original module. Key identifies the module and how it was
	// rewritten.
	Source, Key Key
	// Open says how the host accesses the state of instances. Its Wasm is nil.
	Open *wasmbin.Prepared
	// Segments returns the data segments that were taken out of the module; the host writes
	// them into memories that begin without an image. The error is that of Source.Bytes.
	Segments func() (wasmbin.Data, error)
	// Memory says that the module has a memory of its own.
	Memory bool
	// Lines puts the lines of source of the module into a call stack. nil: it has none.
	Lines func(stack string) string

	key  moduleKey
	data segments
	// code is the key of the machine code in the cache.
	code Key
	// users is the number of those who use the module; guarded by Compiler.mu.
	users int
}

// newModule returns a compiled module without users.
func newModule(e *Engine, compiled wazero.CompiledModule, s *Source, o wasmbin.MeterOptions, code Key, open *wasmbin.Prepared) *Module {
	m := &Module{Compiled: compiled, Engine: e, Source: s.Digest, Key: code, Open: open, Memory: s.Memory, code: code}
	open.Data = wasmbin.Data{} // its bytes are those of the whole module
	m.Segments = func() (wasmbin.Data, error) { return m.data.read(open, s) }
	if o.Trace != nil {
		m.Lines = func(stack string) string { return withLines(stack, s, o) }
	}
	return m
}

// Kept returns nil if the machine code of the module is in the cache, or if the engine has no cache, else why it is
// not there.
func (m *Module) Kept() error {
	if m.Engine.code == nil {
		return nil
	}
	return m.Engine.code.Kept(m.code)
}

// moduleKey identifies a compiled module. Those who ask for equal keys share the module.
type moduleKey struct {
	source      Key
	interpreted bool
	// pages is the most memory of the module in pages, 0 if the memories of its instances
	// enforce the limit themselves.
	pages uint32
}

// segments are the data segments of a module, as long as the garbage collector leaves them: an instance that
// begins with an image needs none.
type segments struct {
	mu   sync.Mutex
	last weak.Pointer[wasmbin.Data]
}

// read returns the segments, and reads them anew if they are gone.
func (d *segments) read(open *wasmbin.Prepared, s *Source) (wasmbin.Data, error) {
	if !open.Lifted {
		return wasmbin.Data{}, nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if last := d.last.Value(); last != nil {
		return *last, nil
	}
	wasm, err := s.Bytes()
	if err != nil {
		return wasmbin.Data{}, err
	}
	data, err := wasmbin.Lifted(wasm, s.Facts)
	if err == nil {
		d.last = weak.Make(&data)
	}
	return data, err
}
