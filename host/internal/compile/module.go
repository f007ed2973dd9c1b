package compile

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"sync"

	"github.com/tetratelabs/wazero"

	"github.com/anchor-host/anchor-host/host/internal/guesttext"
	"github.com/anchor-host/anchor-host/host/internal/wasmbin"
	"github.com/anchor-host/anchor-host/host/internal/wazerox"
)

// codeFormat must change when cached files are made in another way. Changes of wasmbin need no
// new one.
const codeFormat = "3"

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

// Shells keeps the shells of modules between processes, without their data segments; see
// wasmbin.Shell. A module whose machine code is in the cache is made from its shell. Its code
// is then not decoded, metered and checked again.
type Shells interface {
	// Get reads the shell kept under a key, and reports whether there is one.
	Get(key Key, shell *wasmbin.Prepared) bool
	// Put keeps a shell.
	Put(key Key, shell *wasmbin.Prepared)
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
	// them into new memories. The error is that of Source.Bytes.
	Segments func() (wasmbin.Data, error)
	// Memory says that the module has a memory of its own.
	Memory bool

	key moduleKey
	// users is the number of those who use the module; guarded by Compiler.mu.
	users int
}

// Refusal is the error of a module that cannot be compiled, whatever the host does.
type Refusal struct {
	// TooLarge says that the module exceeds a bound on its size. Otherwise it is not valid.
	TooLarge bool
	// Err is the cause, in one line.
	Err error
}

// Error returns the text of the cause.
func (r *Refusal) Error() string { return r.Err.Error() }

// Unwrap returns the cause.
func (r *Refusal) Unwrap() error { return r.Err }

func refusef(format string, args ...any) error { return &Refusal{Err: fmt.Errorf(format, args...)} }

// newModule returns a compiled module without users.
func newModule(e *Engine, compiled wazero.CompiledModule, s *Source, code Key, open *wasmbin.Prepared) *Module {
	m := &Module{Compiled: compiled, Engine: e, Source: s.Digest, Key: code, Open: open, Memory: s.Memory}
	m.Segments = sync.OnceValues(func() (wasmbin.Data, error) {
		if !open.Lifted || open.Data.Len() > 0 {
			return open.Data, nil
		}
		wasm, err := s.Bytes()
		if err != nil {
			return wasmbin.Data{}, err
		}
		return wasmbin.Lifted(wasm, s.Facts)
	})
	return m
}

// meter says how a module is rewritten for an engine. pages bounds its memory, 0 if the
// memories of instances enforce the limit themselves.
func (o *Options) meter(interpreted bool, pages uint32) wasmbin.MeterOptions {
	m := o.Meter
	m.MaxMemoryPages = pages
	if interpreted {
		m.Bounds = wasmbin.InterpreterBounds()
	}
	return m
}

// codeKey identifies the machine code of a module.
func codeKey(s *Source, o wasmbin.MeterOptions) (key Key) {
	h := sha256.New()
	fmt.Fprintf(h, "%s %s sha256:%x\n", codeFormat, wasmbin.Revision(), s.Digest)
	fmt.Fprintf(h, "%q %q %q %d %d %+v\n", o.TickModule, o.TickName, o.FuelExport, o.MaxMemoryPages, o.MaxTable, o.Bounds)
	for _, im := range s.Imports {
		fmt.Fprintf(h, "%q %q %t %t\n", im.Module, im.Name, o.Light(im.Module, im.Name), o.Inert(im.Module, im.Name))
	}
	h.Sum(key[:0])
	return key
}

// compile makes a module from cached machine code, or meters and compiles it.
func (c *Compiler) compile(ctx context.Context, e *Engine, s *Source, pages uint32) (*Module, error) {
	o := c.o.meter(e.Interpreted, pages)
	code := codeKey(s, o)
	var shell []byte
	if e.code != nil && e.Features.On(wazerox.Shells) { // an error is ignored here, because Prepare returns it too
		if open, err := c.shell(s, o, code); err == nil {
			shell, open.Wasm = open.Wasm, nil
			if compiled := e.load(ctx, code, shell); compiled != nil {
				return newModule(e, compiled, s, code, open), nil
			}
		}
	}
	return c.compileAnew(ctx, e, s, o, code, shell)
}

// shell returns the shell of a module, without its data segments, kept or made anew.
func (c *Compiler) shell(s *Source, o wasmbin.MeterOptions, code Key) (*wasmbin.Prepared, error) {
	var kept wasmbin.Prepared
	if c.o.Shells != nil && c.o.Shells.Get(code, &kept) {
		return &kept, nil
	}
	wasm, err := s.Bytes()
	if err != nil {
		return nil, err
	}
	open, err := wasmbin.Shell(wasm, s.Facts, o, hex.EncodeToString(code[:]))
	if err == nil && c.o.Shells != nil {
		c.o.Shells.Put(code, open)
	}
	return open, err
}

// compileAnew meters and compiles a module as soon as its estimate fits beside those of others.
func (c *Compiler) compileAnew(ctx context.Context, e *Engine, s *Source, o wasmbin.MeterOptions, code Key, shell []byte) (*Module, error) {
	wait, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(c.life, func() { cancel(errClosed) })()
	leave, err := c.queue.enter(wait, s.need(e.Interpreted))
	if err != nil {
		return nil, err
	}
	defer leave()
	wasm, err := s.Bytes()
	if err != nil {
		return nil, err
	}
	open, err := wasmbin.Prepare(wasm, o)
	if err != nil {
		return nil, &Refusal{TooLarge: errors.Is(err, wasmbin.ErrLimit), Err: err}
	}
	var compiled wazero.CompiledModule
	if e.Features.On(wazerox.Shells) {
		compiled, err = e.build(ctx, code, open.Wasm, shell)
	} else {
		compiled, err = e.own(ctx, open.Wasm)
	}
	if err != nil {
		return nil, refusef("compile: %s", guesttext.Line(err.Error()))
	}
	open.Wasm = nil // it is compiled
	return newModule(e, compiled, s, code, open), nil
}
