package compile

import (
	"context"
	"fmt"
	"time"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"github.com/anchor-host/anchor-host/host/internal/codecache"
	"github.com/anchor-host/anchor-host/host/internal/wasmbin"
	"github.com/anchor-host/anchor-host/host/internal/wazerox"
)

// Options are what a [Compiler] and its engines need of a host.
type Options struct {
	// Features returns the parts of wazero without a compatibility promise that an engine may
	// use. It is called once for each engine.
	Features func(interpreted bool) wazerox.States
	// Offer instantiates in the runtime of a new engine what guests import.
	Offer func(context.Context, wazero.Runtime) error
	// Kernel returns the module with Extism's functions that guests are linked to.
	Kernel func() []byte
	// OpenCode opens the cache of machine code for modules that use these features of
	// WebAssembly. It returns nil if there is none. nil: each process compiles anew.
	OpenCode func(context.Context, api.CoreFeatures) CodeCache
	// Shells are kept between processes. nil: they are made anew.
	Shells Shells
	// Meter says how modules are rewritten. MaxMemoryPages and Bounds are the compiler's.
	Meter wasmbin.MeterOptions
	// Memory bounds, in bytes, the sum of the estimates of the modules that are being
	// compiled. A module that exceeds it is compiled alone.
	Memory int64
	// OnCompile is called before a module is compiled or taken from the cache, with done
	// false, and afterwards, with the time it took. nil: not called.
	OnCompile OnCompile
	// Lines has the stacks of traps name lines of source, for modules that say them (see package
	// lines).
	Lines bool
	// Parallel compiles a module on all processors, see [Wasm].
	Parallel bool
}

// Key identifies a module and everything that its machine code depends on, except wazero and
// the processor.
type Key = codecache.Key

// CodeCache keeps machine code between processes. The runtimes that it is given were made with
// its Wazero. It is safe for concurrent use.
type CodeCache interface {
	// Wazero is what the runtime of an engine must be made with.
	Wazero() wazero.CompilationCache
	// Load makes a module from its shell and the machine code kept under key, nil if there is
	// none that is usable.
	Load(ctx context.Context, rt wazero.Runtime, key Key, shell []byte) wazero.CompiledModule
	// Compile compiles a module and keeps its machine code under key for later loads by its
	// shell. A nil shell means that the module is its own shell.
	Compile(ctx context.Context, rt wazero.Runtime, key Key, wasm, shell []byte) (wazero.CompiledModule, error)
	// Kept returns nil if the cache has machine code under key, else why it has none.
	Kept(key Key) error
	// Close ends the use of the cache. The runtime is closed before.
	Close(context.Context) error
}

// OnCompile is told of a compilation for the first who asked for the module, by their name.
type OnCompile func(name string, done bool, took time.Duration)

// Shells keeps the shells of modules between processes, without their data segments; see
// wasmbin.Shell. A module whose machine code is in the cache is made from its shell. Its code
// is then not decoded, metered and checked again.
type Shells interface {
	// Get reads the shell kept under a key, and reports whether there is one.
	Get(key Key, shell *wasmbin.Prepared) bool
	// Put keeps a shell.
	Put(key Key, shell *wasmbin.Prepared)
}

// meter says how a module is rewritten for an engine. pages bounds its memory, 0 if the
// memories of instances enforce the limit themselves.
func (o *Options) meter(s *Source, interpreted bool, pages uint32) wasmbin.MeterOptions {
	m := o.Meter
	m.MaxMemoryPages = pages
	if o.Lines && hasLines(s) {
		m.Trace = traceSections(markOf(s))
	}
	if interpreted {
		m.Bounds = wasmbin.InterpreterBounds()
	}
	return m
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
