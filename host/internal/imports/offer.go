package imports

import (
	"context"
	"fmt"
	"maps"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/host/internal/guest"
	"github.com/anchor-host/anchor-host/host/internal/kernel"
	"github.com/anchor-host/anchor-host/host/internal/offered"
	"github.com/anchor-host/anchor-host/host/internal/wasi"
	"github.com/anchor-host/anchor-host/host/internal/wasmbin"
)

// hostFuncs are the functions of abi.Imports by name, except for those of the kernel.
// CONTRIBUTING.md says what else a new one touches.
//
// A function that works for longer than its weight covers is wrapped in Slow, one that waits
// for something outside in Blocking. One that tells the guest what may be different in the
// next process sets Outside of the instance, because the image would keep it. What clocks
// show comes from the instance's WASI, which has other clocks for a Deterministic plugin.
var hostFuncs = func() map[string]guest.Function {
	all := map[string]guest.Function{
		"http_request":        guest.Blocking(httpRequest),
		abi.ImportHTTPBatch:   guest.Blocking(httpBatch),
		abi.ImportKVGet:       kvGet,
		abi.ImportKVSet:       kvSet,
		abi.ImportCountTokens: guest.Slow(countTokens),
		abi.ImportEmbed:       guest.Blocking(embed),
		abi.ImportSearch:      guest.Blocking(search),
		abi.ImportLLM:         guest.Blocking(askModels),
	}
	maps.Copy(all, guest.Functions)
	return all
}()

// Kernel is the module with Extism's functions.
func Kernel() []byte {
	var env []abi.Signature
	for _, s := range abi.Imports {
		if s.Module == abi.EnvModule {
			env = append(env, s)
		}
	}
	return kernel.Module(env, offered.OldEnvPrefix)
}

// Offer instantiates the host functions and those of the embedder, as modules that guests of rt
// import from.
func Offer(ctx context.Context, rt wazero.Runtime, functions []Function) error {
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
	for i := range functions {
		f := &functions[i]
		exportTo(rt, modules, f.Module, f.Name, valueTypes(f.Params), valueTypes(f.Results), guest.Blocking(f.run))
	}
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
