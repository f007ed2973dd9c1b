package host

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"sync"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/host/internal/codecache"
	"github.com/anchor-host/anchor-host/host/internal/wasmbin"
	"github.com/anchor-host/anchor-host/host/internal/wazerox"
)

// engine is one wazero runtime with the host functions in it. A host has at most two: one that
// compiles and one that interprets.
type engine struct {
	rt    wazero.Runtime
	cache *codecache.Cache
	// features are the parts of wazero without a compatibility promise that the engine uses.
	features wazerox.States
	// linked makes the kernels that guests are linked to. It is nil if host functions are the
	// kernel. findKernel sets it.
	linked *linkedKernel
	// settled says that findKernel has run. Its result depends only on features and kind.
	settled bool
	kind    string
	// settling is held while findKernel runs.
	settling sync.Mutex
}

// newEngine makes a runtime. Guests are stopped by the meter in their code, not by wazero's
// WithCloseOnContextDone, which makes guests several times slower and does not stop recursion.
func newEngine(ctx context.Context, hc *Config, kind string, root *cacheRoot) (*engine, error) {
	e := &engine{kind: kind, features: hc.featuresOf(kind)}
	logFeatures(hc.Logger, e.features)
	cfg := wazero.NewRuntimeConfig()
	switch kind {
	case EngineInterpreter:
		cfg = wazero.NewRuntimeConfigInterpreter()
	default:
		if e.features.On(wazerox.CodeFiles) && e.openCache(ctx, root) {
			cfg = cfg.WithCompilationCache(e.cache.Wazero())
		}
	}
	e.rt = wazero.NewRuntimeWithConfig(ctx, cfg.WithCoreFeatures(e.features.CoreFeatures()))
	if err := e.offer(ctx, hc.Functions); err != nil {
		return nil, fmt.Errorf("engine: offer host functions: %w", errors.Join(err, e.close(ctx)))
	}
	return e, nil
}

// openCache opens the cache of machine code on disk and reports whether it could. Without one,
// modules are compiled on every start.
func (e *engine) openCache(ctx context.Context, root *cacheRoot) bool {
	if root == nil {
		return false
	}
	root.Sweep()
	build, err := engineBuild()
	if err == nil {
		e.cache, err = codecache.Open(ctx, codecache.Options{
			Store: root.Store, Notes: root.facts, Build: build, Features: e.features.CoreFeatures(),
			Meter: meterOptions(wasmbin.Bounds{}, 0), Compile: compileModule,
			Refuted: func() {
				wazerox.Failed(wazerox.Shells, "tried out in vain: wazero does not take what lies under the name of a shell")
				logFeature(root.Log, wazerox.Look(false)[wazerox.Shells])
			},
		})
	}
	if err != nil {
		level := slog.LevelWarn
		if errors.Is(err, errUnknownEngine) || errors.Is(err, codecache.ErrNoCode) { // there is nothing to mend
			level = slog.LevelInfo
		}
		root.Log.Log(ctx, level, "machine code is not kept", "reason", err)
	}
	return err == nil
}

// offer instantiates the host functions, as modules that guests import from.
func (e *engine) offer(ctx context.Context, functions []Function) error {
	if err := offerWASI(ctx, e.rt); err != nil {
		return err
	}
	if err := offerMeter(ctx, e.rt); err != nil {
		return err
	}
	if err := offerSettle(ctx, e.rt); err != nil {
		return err
	}
	modules := map[string]wazero.HostModuleBuilder{}
	for _, s := range abi.Imports {
		fn := hostFuncs[s.Name]
		if fn == nil {
			fn = localFunc(s.Name)
		}
		if fn == nil {
			return fmt.Errorf("no host function for import %q of module %q", s.Name, s.Module)
		}
		exportTo(e.rt, modules, s.Module, s.Name, valueTypes(s.Params), valueTypes(s.Results), fn)
		if s.Module == abi.EnvModule {
			exportTo(e.rt, modules, oldEnvModule, oldEnvPrefix+s.Name, valueTypes(s.Params), valueTypes(s.Results), fn)
		}
	}
	offerFunctions(e.rt, modules, functions)
	for _, b := range modules {
		if _, err := b.Instantiate(ctx); err != nil {
			return err
		}
	}
	return nil
}

// offerMeter instantiates the function that the rewritten code of guests calls.
func offerMeter(ctx context.Context, rt wazero.Runtime) error {
	_, err := rt.NewHostModuleBuilder(wasmbin.TickModule).NewFunctionBuilder().
		WithGoFunction(api.GoFunc(tick), nil, []api.ValueType{api.ValueTypeI64}).
		Export(wasmbin.TickName).Instantiate(ctx)
	return err
}

func exportTo(rt wazero.Runtime, modules map[string]wazero.HostModuleBuilder, module, name string, params, results []api.ValueType, fn hostFunc) {
	b := modules[module]
	if b == nil {
		b = rt.NewHostModuleBuilder(module)
	}
	modules[module] = b.NewFunctionBuilder().
		WithGoFunction(api.GoFunc(func(ctx context.Context, stack []uint64) { fn(stateOf(ctx), stack) }),
			params, results).
		Export(name)
}

func valueTypes[T ~byte](ts []T) []api.ValueType {
	out := make([]api.ValueType, len(ts))
	for i, t := range ts {
		out[i] = api.ValueType(t)
	}
	return out
}

// compile returns a compiled module of the host itself, from the cache if possible.
func (e *engine) compile(ctx context.Context, wasm []byte) (wazero.CompiledModule, error) {
	key := sha256.Sum256(wasm)
	if compiled := e.load(ctx, key, wasm); compiled != nil {
		return compiled, nil
	}
	return e.build(ctx, key, wasm, nil)
}

// load makes a module from its shell and the machine code in the cache under key, nil if the
// cache has none.
func (e *engine) load(ctx context.Context, key [sha256.Size]byte, shell []byte) wazero.CompiledModule {
	if e.cache == nil {
		return nil
	}
	return e.cache.Load(ctx, e.rt, key, shell)
}

// build compiles a module and adds its machine code to the cache for later loads by its shell.
// A nil shell means that the module is its own shell.
func (e *engine) build(ctx context.Context, key [sha256.Size]byte, wasm, shell []byte) (wazero.CompiledModule, error) {
	if e.cache == nil {
		return e.compileModule(ctx, wasm)
	}
	return e.cache.Compile(ctx, e.rt, key, wasm, shell)
}

// compileWasm makes wazero compile a module. Tests replace it.
var compileWasm = func(ctx context.Context, rt wazero.Runtime, wasm []byte) (wazero.CompiledModule, error) {
	return rt.CompileModule(ctx, wasm)
}

// compileModule turns a panic of wazero, which some modules may cause, into an error. wazero
// compiles in this goroutine only, because nothing would recover a panic in the other
// goroutines that it can use.
func compileModule(ctx context.Context, rt wazero.Runtime, wasm []byte) (compiled wazero.CompiledModule, err error) {
	defer func() {
		if r := recover(); r != nil {
			compiled, err = nil, fmt.Errorf("compile: %w: wazero panicked: %v", ErrNotWasm, r)
		}
	}()
	return compileWasm(wazerox.OneWorker(ctx), rt, wasm)
}

func (e *engine) compileModule(ctx context.Context, wasm []byte) (wazero.CompiledModule, error) {
	return compileModule(ctx, e.rt, wasm)
}

func (e *engine) close(ctx context.Context) error {
	err := e.rt.Close(ctx)
	if e.cache != nil {
		err = errors.Join(err, e.cache.Close(ctx))
	}
	return err
}

// meterOptions bounds what wazero does not. pages bounds the memory, 0 if the memory enforces
// its limit itself.
func meterOptions(b wasmbin.Bounds, pages uint32) wasmbin.MeterOptions {
	return wasmbin.MeterOptions{
		MaxTable: maxTableSize, MaxMemoryPages: pages, Bounds: b,
		Light: lightImport, Inert: inertImport,
	}
}
