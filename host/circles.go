package host

import (
	"context"

	"github.com/tetratelabs/wazero"

	"github.com/anchor-host/anchor-host/host/internal/kernel"
	"github.com/anchor-host/anchor-host/host/internal/wasmbin"
)

// circle lets modules import from a link that is instantiated after them. They are linked
// to a stub instead, whose functions call those of the link through a table. The filler
// fills the table when the link is there.
type circle struct {
	stub, filler wazero.CompiledModule
}

// compile makes the stub and the filler of a link, with the functions that other links
// import from it. The plugin closes both, see close.
func (c *circle) compile(ctx context.Context, p *Plugin, l *linked) (err error) {
	var functions []kernel.Function
	seen := map[string]bool{}
	for _, other := range p.links {
		for _, im := range other.Spec.imports {
			if im.Module == l.Name && im.Kind == wasmbin.KindFunc && !seen[im.Name] {
				seen[im.Name] = true
				functions = append(functions, kernel.Function{
					Name: im.Name, Params: encoded(im.Func.Params), Results: encoded(im.Func.Results),
				})
			}
		}
	}
	if c.stub, err = p.engine.compile(ctx, kernel.Stub(functions)); err != nil {
		return err
	}
	c.filler, err = p.engine.compile(ctx, kernel.Filler(functions))
	return err
}

// encoded returns types in their binary encoding.
func encoded(ts []wasmbin.ValueType) []byte {
	out := make([]byte, len(ts))
	for i, t := range ts {
		out[i] = byte(t)
	}
	return out
}

// close frees the compiled modules.
func (c *circle) close(ctx context.Context) {
	for _, m := range []wazero.CompiledModule{c.stub, c.filler} {
		if m != nil {
			_ = m.Close(ctx) // no instance uses it any longer
		}
	}
}
