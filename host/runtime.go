package host

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/host/internal/codecache"
	"github.com/anchor-host/anchor-host/host/internal/codestore"
	"github.com/anchor-host/anchor-host/host/internal/compile"
	"github.com/anchor-host/anchor-host/host/internal/guest"
	"github.com/anchor-host/anchor-host/host/internal/kernel"
	"github.com/anchor-host/anchor-host/host/internal/offered"
	"github.com/anchor-host/anchor-host/host/internal/wasi"
	"github.com/anchor-host/anchor-host/host/internal/wasmbin"
	"github.com/anchor-host/anchor-host/host/internal/wazerox"
)

// compileOptions are what the engines of a host consist of, and where machine code is kept.
// root may be nil.
func (c *Config) compileOptions(root *cacheRoot) compile.Options {
	o := compile.Options{
		Features: func(interpreted bool) wazerox.States {
			states := c.featuresOf(kindOf(interpreted))
			logFeatures(c.Logger, states)
			return states
		},
		Offer:  func(ctx context.Context, rt wazero.Runtime) error { return offerImports(ctx, rt, c.Functions) },
		Kernel: kernelModule,
		Meter:  meterOptions(),
		Memory: c.LoadMemory, OnCompile: c.OnCompile,
	}
	if root != nil {
		o.OpenCode, o.Shells = root.openCode, shells{root.facts}
	}
	return o
}

// openCode opens the cache of machine code for modules that use these features of WebAssembly.
// It returns nil if there is none; modules are then compiled on every start.
func (r *cacheRoot) openCode(ctx context.Context, features api.CoreFeatures) compile.CodeCache {
	r.Sweep()
	build, err := engineBuild()
	var cache *codecache.Cache
	if err == nil {
		cache, err = codecache.Open(ctx, codecache.Options{
			Store: r.Store, Notes: r.facts, Build: build, Features: features, Meter: meterOptions(), Compile: compile.Wasm,
			Refuted: func() {
				wazerox.Failed(wazerox.Shells, "tried out in vain: wazero does not take what lies under the name of a shell")
				logFeature(r.Log, wazerox.Look(false)[wazerox.Shells])
			},
		})
	}
	if err == nil {
		return cache
	}
	level := slog.LevelWarn
	if errors.Is(err, errUnknownEngine) || errors.Is(err, codecache.ErrNoCode) { // there is nothing to mend
		level = slog.LevelInfo
	}
	r.Log.Log(ctx, level, "machine code is not kept", "reason", err)
	return nil
}

// kindOf is the name of an engine.
func kindOf(interpreted bool) Engine {
	if interpreted {
		return EngineInterpreter
	}
	return EngineCompiler
}

// kindShell is the kind of note that holds the shell of a module, by the key of its machine
// code.
const kindShell = "shell"

// shells keeps the shells of modules.
type shells struct{ *codestore.Notes }

// Get implements compile.Shells.
func (s shells) Get(key compile.Key, shell *wasmbin.Prepared) bool {
	return s.Notes.Get(kindShell, key[:], shell)
}

// Put implements compile.Shells.
func (s shells) Put(key compile.Key, shell *wasmbin.Prepared) { s.Notes.Put(kindShell, key[:], shell) }

// meterOptions says how guests are rewritten.
func meterOptions() wasmbin.MeterOptions {
	return wasmbin.MeterOptions{MaxTable: wasmbin.MaxTable, Light: guest.LightImport, Inert: guest.InertImport}
}

// kernelModule is the module with Extism's functions.
func kernelModule() []byte {
	var env []abi.Signature
	for _, s := range abi.Imports {
		if s.Module == abi.EnvModule {
			env = append(env, s)
		}
	}
	return kernel.Module(env, offered.OldEnvPrefix)
}

// offerImports instantiates the host functions, as modules that guests import from.
func offerImports(ctx context.Context, rt wazero.Runtime, functions []Function) error {
	if err := wasi.Offer(ctx, rt, guest.WASIState); err != nil {
		return err
	}
	if err := offerMeter(ctx, rt); err != nil {
		return err
	}
	if err := guest.OfferSettle(ctx, rt); err != nil {
		return err
	}
	modules := map[string]wazero.HostModuleBuilder{}
	for _, s := range abi.Imports {
		fn := hostFuncs[s.Name]
		if fn == nil {
			fn = guest.KernelFunction(s.Name)
		}
		if fn == nil {
			return fmt.Errorf("no host function for import %q of module %q", s.Name, s.Module)
		}
		exportTo(rt, modules, s.Module, s.Name, valueTypes(s.Params), valueTypes(s.Results), fn)
		if s.Module == abi.EnvModule {
			exportTo(rt, modules, offered.OldEnv, offered.OldEnvPrefix+s.Name, valueTypes(s.Params), valueTypes(s.Results), fn)
		}
	}
	offerFunctions(rt, modules, functions)
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
		WithGoFunction(api.GoFunc(guest.Tick), nil, []api.ValueType{api.ValueTypeI64}).
		Export(wasmbin.TickName).Instantiate(ctx)
	return err
}

func exportTo(rt wazero.Runtime, modules map[string]wazero.HostModuleBuilder, module, name string, params, results []api.ValueType, fn guest.Function) {
	b := modules[module]
	if b == nil {
		b = rt.NewHostModuleBuilder(module)
	}
	modules[module] = b.NewFunctionBuilder().
		WithGoFunction(api.GoFunc(func(ctx context.Context, stack []uint64) { fn(guest.CallOf(ctx), stack) }),
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
