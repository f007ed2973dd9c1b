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

	"github.com/anchor-host/anchor-host/host/internal/wasmbin"
	"github.com/anchor-host/anchor-host/host/internal/wazerox"
)

// moduleKey names a compiled module: the same one serves every plugin that is
// configured with it.
type moduleKey struct {
	digest [sha256.Size]byte
	engine string
	// pages is the most memory of the module, 0 where its instances' own memories
	// hold them to it.
	pages uint32
}

// module is a compiled module with the number of plugins that use it.
type module struct {
	key      moduleKey
	compiled wazero.CompiledModule
	engine   *engine
	// digest identifies the module and how it was rewritten; open is how the host
	// reaches the state of its instances.
	digest [sha256.Size]byte
	open   *wasmbin.Prepared
	// segments are the data segments that are left to the host.
	segments func() (wasmbin.Data, error)
	// memory says that it has a memory of its own.
	memory bool
	// users is guarded by Host.mu.
	users int
}

// compile makes a module of what the cache has, or meters and compiles it, and tells
// who wants to know.
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
	if e.cache != nil && e.features.On(wazerox.Shells) { // what is wrong with the module, Prepare says
		if open, err := h.shell(spec, options, code); err == nil {
			shell, open.Wasm = open.Wasm, nil
			if compiled := e.load(ctx, code, shell); compiled != nil {
				return newModule(compiled, spec, code, open), nil
			}
		}
	}
	return h.compileAnew(ctx, e, spec, options, code, shell)
}

// shell is the shell of a module, kept or made, without its data.
func (h *Host) shell(spec *Spec, o wasmbin.MeterOptions, code [sha256.Size]byte) (*wasmbin.Prepared, error) {
	var kept wasmbin.Prepared
	if h.kept.get(kindShell, code[:], &kept) {
		return &kept, nil
	}
	wasm, err := spec.source.bytes()
	if err != nil {
		return nil, err
	}
	open, err := wasmbin.Shell(wasm, spec.facts, o, hex.EncodeToString(code[:]))
	if err == nil {
		h.kept.put(kindShell, code[:], open)
	}
	return open, err
}

// newModule is a compiled module that nobody uses yet.
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

// boundsOf are the bounds that guard an engine.
func boundsOf(engine string) (b wasmbin.Bounds) {
	if engine == EngineInterpreter {
		return wasmbin.InterpreterBounds()
	}
	return b
}

// compileAnew meters and compiles a module, when there is room for that.
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
	open.Wasm = nil // compiled, and of no more use
	return newModule(compiled, spec, code, open), nil
}

// release gives a module back; the last user frees it.
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

// codeKey names the machine code of a module: all that it depends on but wazero and
// the processor, which are in the names of folder and file.
func codeKey(spec *Spec, o wasmbin.MeterOptions) (key [sha256.Size]byte) {
	h := sha256.New()
	fmt.Fprintf(h, "%s %s %s\n", codeFormat, wasmbin.Revision(), spec.Digest)
	fmt.Fprintf(h, "%q %q %q %d %d %+v\n", o.TickModule, o.TickName, o.FuelExport, o.MaxMemoryPages, o.MaxTable, o.Bounds)
	for _, im := range spec.imports {
		fmt.Fprintf(h, "%q %q %t %t\n", im.Module, im.Name, o.Light(im.Module, im.Name), o.Inert(im.Module, im.Name))
	}
	h.Sum(key[:0])
	return key
}
