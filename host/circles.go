package host

import (
	"context"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"github.com/anchor-host/anchor-host/host/internal/compile"
	"github.com/anchor-host/anchor-host/host/internal/kernel"
	"github.com/anchor-host/anchor-host/host/internal/wasmbin"
	"github.com/anchor-host/anchor-host/host/internal/wazerox"
)

// circleFunctions are the functions of a link that other links import.
func (p *Plugin) circleFunctions(l *linked) (functions []kernel.Function) {
	seen := map[string]bool{}
	for _, other := range p.links {
		for _, im := range other.Spec.Module().Imports {
			if im.Module == l.Name && im.Kind == wasmbin.KindFunc && !seen[im.Name] {
				seen[im.Name] = true
				functions = append(functions, kernel.Function{
					Name: im.Name, Params: encoded(im.Func.Params), Results: encoded(im.Func.Results),
				})
			}
		}
	}
	return functions
}

// encoded returns types in their binary encoding.
func encoded(ts []wasmbin.ValueType) []byte {
	out := make([]byte, len(ts))
	for i, t := range ts {
		out[i] = byte(t)
	}
	return out
}

// openStub makes an instance of a stub.
func (in *instance) openStub(ctx context.Context, c *compile.Circle) (api.Module, error) {
	return in.instantiateOwn(ctx, c.Stub)
}

// closeCircle puts the functions of a link into the table of its stub.
func (in *instance) closeCircle(ctx context.Context, c *compile.Circle, stub, link api.Module) error {
	_, err := in.instantiateOwn(wazerox.Resolving(ctx, func(module string) api.Module {
		if module == kernel.FillModule {
			return stub
		}
		return link
	}), c.Filler)
	return err
}

// instantiateOwn instantiates a module that the host itself made and that has no memory.
// The instance closes it.
func (in *instance) instantiateOwn(ctx context.Context, m wazero.CompiledModule) (api.Module, error) {
	mod, err := in.plugin.engine.RT.InstantiateModule(ctx, m, wazero.NewModuleConfig().WithName("").WithStartFunctions())
	if err != nil {
		return nil, err
	}
	in.stubs = append(in.stubs, mod)
	return mod, nil
}
