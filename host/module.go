package host

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/tetratelabs/wazero"

	"github.com/anchor-host/anchor-host/host/internal/codecache"
	"github.com/anchor-host/anchor-host/host/internal/wasmbin"
	"github.com/anchor-host/anchor-host/host/internal/wazerox"
)

// moduleKey identifies a compiled module. Plugins with equal keys share the module.
type moduleKey struct {
	digest [sha256.Size]byte
	engine string
	// pages is the most memory of the module in pages, 0 if the memories of its instances
	// enforce the limit themselves.
	pages uint32
}

// kindShell is the kind of the notes that hold shells of modules, by their codeKey.
const kindShell = "shell"

// module is a compiled module that plugins share.
type module struct {
	key      moduleKey
	compiled wazero.CompiledModule
	engine   *engine
	// digest identifies the module and how it was rewritten. open says how the host accesses
	// the state of its instances.
	digest [sha256.Size]byte
	open   *wasmbin.Prepared
	// segments returns the data segments that were taken out of the module; the host writes
	// them into new memories.
	segments func() (wasmbin.Data, error)
	// memory says that the module has a memory of its own.
	memory bool
	// users is the number of plugins that use the module; guarded by Host.mu.
	users int
}

// compile makes a module from cached machine code, or meters and compiles it. It calls
// Config.OnCompile before and afterwards.
func (h *Host) compile(ctx context.Context, e *engine, name string, spec *Spec, key moduleKey) (*module, error) {
	bounds := boundsOf(key.engine)
	if h.cfg.OnCompile != nil {
		begin := time.Now()
		h.cfg.OnCompile(name, false, 0)
		defer func() { h.cfg.OnCompile(name, true, time.Since(begin)) }()
	}
	options := meterOptions(bounds, key.pages)
	code := codeKey(spec, options)
	var shell []byte
	if e.cache != nil && e.features.On(wazerox.Shells) { // an error is ignored here, because Prepare returns it too
		if open, err := h.shell(spec, options, code); err == nil {
			shell, open.Wasm = open.Wasm, nil
			if compiled := e.load(ctx, code, shell); compiled != nil {
				return newModule(compiled, spec, code, open), nil
			}
		}
	}
	return h.compileAnew(ctx, e, spec, options, code, shell)
}

// shell returns the shell of a module, without its data segments, from the cache or made anew.
func (h *Host) shell(spec *Spec, o wasmbin.MeterOptions, code [sha256.Size]byte) (*wasmbin.Prepared, error) {
	var kept wasmbin.Prepared
	if h.kept.Get(kindShell, code[:], &kept) {
		return &kept, nil
	}
	wasm, err := spec.source.bytes()
	if err != nil {
		return nil, err
	}
	open, err := wasmbin.Shell(wasm, spec.facts, o, hex.EncodeToString(code[:]))
	if err == nil {
		h.kept.Put(kindShell, code[:], open)
	}
	return open, err
}

// newModule returns a compiled module without users.
func newModule(compiled wazero.CompiledModule, spec *Spec, code [sha256.Size]byte, open *wasmbin.Prepared) *module {
	m := &module{compiled: compiled, digest: code, open: open, memory: spec.memory}
	m.segments = sync.OnceValues(func() (wasmbin.Data, error) {
		if !open.Lifted || open.Data.Len() > 0 {
			return open.Data, nil
		}
		wasm, err := spec.source.bytes()
		if err != nil {
			return wasmbin.Data{}, err
		}
		return wasmbin.Lifted(wasm, spec.facts)
	})
	return m
}

// boundsOf returns the bounds on the size of a module for an engine.
func boundsOf(engine string) (b wasmbin.Bounds) {
	if engine == EngineInterpreter {
		return wasmbin.InterpreterBounds()
	}
	return b
}

// compileAnew meters and compiles a module as soon as its estimate fits into
// Config.LoadMemory.
func (h *Host) compileAnew(ctx context.Context, e *engine, spec *Spec, o wasmbin.MeterOptions, code [sha256.Size]byte, shell []byte) (*module, error) {
	wait, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(h.life, func() { cancel(fmt.Errorf("host: %w", ErrClosed)) })()
	leave, err := h.room.enter(wait, spec.LoadEstimate(e.kind).Memory)
	if err != nil {
		return nil, err
	}
	defer leave()
	wasm, err := spec.source.bytes()
	if err != nil {
		return nil, err
	}
	open, err := wasmbin.Prepare(wasm, o)
	switch {
	case errors.Is(err, wasmbin.ErrLimit):
		return nil, as(ErrTooLarge, err)
	case err != nil:
		return nil, as(ErrNotWasm, err)
	}
	var compiled wazero.CompiledModule
	if e.features.On(wazerox.Shells) {
		compiled, err = e.build(ctx, code, open.Wasm, shell)
	} else {
		compiled, err = e.compile(ctx, open.Wasm)
	}
	if err != nil {
		return nil, as(ErrNotWasm, fmt.Errorf("compile: %s", oneLine(err.Error())))
	}
	open.Wasm = nil // it is compiled and no longer needed
	return newModule(compiled, spec, code, open), nil
}

// release ends the use of a module. The last user frees it.
func (h *Host) release(ctx context.Context, m *module) error {
	h.mu.Lock()
	m.users--
	last := m.users == 0
	if last {
		delete(h.modules, m.key)
	}
	h.mu.Unlock()
	if !last {
		return nil
	}
	return m.compiled.Close(ctx)
}

// codeKey identifies the machine code of a module. It covers everything that the code depends
// on, except wazero and the processor, which are in the names of folders and files.
func codeKey(spec *Spec, o wasmbin.MeterOptions) (key [sha256.Size]byte) {
	h := sha256.New()
	fmt.Fprintf(h, "%s %s %s\n", codecache.Format, wasmbin.Revision(), spec.Digest)
	fmt.Fprintf(h, "%q %q %q %d %d %+v\n", o.TickModule, o.TickName, o.FuelExport, o.MaxMemoryPages, o.MaxTable, o.Bounds)
	for _, im := range spec.imports {
		fmt.Fprintf(h, "%q %q %t %t\n", im.Module, im.Name, o.Light(im.Module, im.Name), o.Inert(im.Module, im.Name))
	}
	h.Sum(key[:0])
	return key
}
