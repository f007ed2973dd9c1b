package host

import (
	"github.com/anchor-host/anchor-host/host/internal/kernel"
	"github.com/anchor-host/anchor-host/host/internal/wasmbin"
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
