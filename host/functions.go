package host

import (
	"context"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/host/internal/guest"
	"github.com/anchor-host/anchor-host/host/internal/imports"
)

// UserModule is the import module from which plugins of any Extism PDK import the functions
// of an embedder. A [Function] must name it like any other module.
const UserModule = abi.UserModule

// NewFunction returns a function (i64) -> (i64) that takes the handle of a block of bytes
// and returns another. A result without bytes is returned as handle 0. fn gets no bytes for
// a handle that names no block.
func NewFunction(module, name string, fn func(ctx context.Context, in []byte) ([]byte, error)) Function {
	return Function{
		Module: module, Name: name, Params: []abi.ValueType{abi.I64}, Results: []abi.ValueType{abi.I64},
		Call: func(ctx context.Context, g *Guest, stack []uint64) error {
			out, err := fn(ctx, g.Bytes(stack[0]))
			if err != nil {
				return err
			}
			stack[0], err = g.Put(out)
			return err
		},
	}
}

// Plugin returns the name of the configured plugin.
func (g *Guest) Plugin() string { return pluginOf(g.call.Instance).setup.name }

// Bytes returns a copy of the block of a handle, nil if the handle names none.
func (g *Guest) Bytes(handle uint64) []byte {
	b, ok := g.call.Instance.Extism.Kernel.Bytes(handle)
	if !ok {
		return nil
	}
	g.call.Spend(int64(len(b)))
	return append([]byte(nil), b...)
}

// Put copies bytes into a new block of the guest and returns its handle, 0 for no bytes. It
// fails if the guest's memory has no room.
func (g *Guest) Put(b []byte) (uint64, error) {
	handle := g.call.Put(b)
	if handle == 0 && len(b) > 0 {
		return 0, guest.Faultf(abi.ReasonMemory, "no room for %d bytes", len(b))
	}
	return handle, nil
}

// importable are the functions of the embedder as guests import them.
func (c *Config) importable() []imports.Function {
	out := make([]imports.Function, len(c.Functions))
	for i := range c.Functions {
		f := &c.Functions[i]
		out[i] = imports.Function{Module: f.Module, Name: f.Name, Params: f.Params, Results: f.Results}
		if f.Call != nil {
			out[i].Call = func(ctx context.Context, c *guest.Call, stack []uint64) error { return f.Call(ctx, &Guest{c}, stack) }
		}
	}
	return out
}
