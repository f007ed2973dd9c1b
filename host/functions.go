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

// Function is a function of the embedder that guests can import. [NewFunction] makes one
// that takes and returns bytes.
type Function struct {
	// Module is the import module, Name the name in it. The modules of WASI, of Extism and
	// of this host are reserved, and so are names in UserModule that begin with "anchor_".
	Module, Name string
	// Params and Results are the types of its parameters and results. A block of bytes is
	// passed as an I64, its handle.
	Params, Results []abi.ValueType
	// Call is the function. The stack holds the parameters, each in 64 bits, and receives
	// the results. An error or a panic ends the call of the guest.
	//
	// Call runs on the goroutine of the guest's call, so instances may run it at the same
	// time. Its time counts for the guest's call. The context ends with the time of that
	// call, and Call must return then, as nothing else can stop it. Under that context it
	// may call plugins, even the one that it serves, up to four calls deep. Such a call
	// uses the fuel of the guest's call, and fails if all instances are lent. Call must not
	// close plugins.
	Call func(ctx context.Context, g *Guest, stack []uint64) error
}

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

// Guest is the caller of a [Function]. It is valid during the call, on the goroutine of the
// call.
type Guest struct{ call *guest.Call }

// Plugin returns the name of the configured plugin.
func (g *Guest) Plugin() string { return pluginOf(g.call.Instance).name }

// Bytes returns a copy of the block of a handle, nil if the handle names none.
func (g *Guest) Bytes(handle uint64) []byte {
	b, ok := g.call.Instance.Kernel.Bytes(handle)
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
