package host

import (
	"context"
	"errors"
	"fmt"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/host/internal/compile"
	"github.com/anchor-host/anchor-host/host/internal/guest"
	"github.com/anchor-host/anchor-host/host/internal/kernel"
	"github.com/anchor-host/anchor-host/host/internal/offered"
	"github.com/anchor-host/anchor-host/host/internal/wasi"
	"github.com/anchor-host/anchor-host/host/internal/wasmbin"
	"github.com/anchor-host/anchor-host/host/internal/wazerox"
	"github.com/anchor-host/anchor-host/host/spec"
)

// Loading a module costs the host work before any fuel is counted. That work is estimated
// while the module is read. A module that would take too much is refused. Package compile
// compiles the others.

// sourceOf is a spec as package compile needs it.
func sourceOf(s *spec.Spec) *compile.Source {
	m := s.Module()
	return &compile.Source{Digest: m.Digest, Bytes: m.Bytes, Facts: m.Facts, Imports: m.Imports, Memory: m.Memory, Linked: m.Linkable()}
}

// module returns the compiled module of a spec, and compiles it if no other plugin uses it. It
// returns when ctx ends, while the compilation goes on.
func (h *Host) module(ctx context.Context, name string, spec *spec.Spec, kind Engine, l Limits) (*compile.Module, error) {
	if err := spec.CheckLoad(kind == EngineInterpreter, loadLimits(l)); err != nil {
		return nil, err
	}
	var pages uint32
	if features := h.cfg.featuresOf(kind); !features.On(wazerox.Memories) {
		pages = uint32(l.Memory / wasmPage)
	}
	m, err := h.compiler.Module(ctx, name, sourceOf(spec), kind == EngineInterpreter, pages)
	return m, notCompiled(err)
}

// notCompiled makes an error of package compile wrap the errors that callers test for.
func notCompiled(err error) error {
	var refused *compile.Refusal
	switch {
	case !errors.As(err, &refused):
		return err
	case refused.TooLarge:
		return guest.As(ErrTooLarge, err)
	}
	return guest.As(ErrNotWasm, err)
}

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

// kindOf is the name of an engine.
func kindOf(interpreted bool) Engine {
	if interpreted {
		return EngineInterpreter
	}
	return EngineCompiler
}

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
