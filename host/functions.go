package host

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/tetratelabs/wazero"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/host/internal/guest"
	"github.com/anchor-host/anchor-host/host/internal/offered"
	"github.com/anchor-host/anchor-host/host/internal/wasmbin"
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

// fullName is the name of the function in grants and errors.
func (f *Function) fullName() string { return f.Module + "." + f.Name }

// signature is the type of the function as text.
func (f *Function) signature() string {
	types := func(ts []abi.ValueType) []wasmbin.ValueType {
		out := make([]wasmbin.ValueType, len(ts))
		for i, t := range ts {
			out[i] = wasmbin.ValueType(t)
		}
		return out
	}
	return wasmbin.FuncType{Params: types(f.Params), Results: types(f.Results)}.String()
}

// checkFunctions refuses functions that no guest could import, and duplicates.
func checkFunctions(fs []Function) error {
	seen := map[string]bool{}
	for i := range fs {
		f := &fs[i]
		name := fmt.Sprintf("function %q", f.fullName())
		switch {
		case f.Module == "" || f.Name == "" || f.Call == nil:
			return fmt.Errorf("%s: %w (it needs a module, a name and Call)", name, ErrConfig)
		case takenModule(f.Module), f.Module == UserModule && strings.HasPrefix(f.Name, "anchor_"):
			return fmt.Errorf("%s: %w (the name is taken by this host; use module %q and a name without anchor_)", name, ErrConfig, UserModule)
		case seen[f.fullName()]:
			return fmt.Errorf("%s: %w: it is there twice", name, ErrConfig)
		}
		for _, t := range slices.Concat(f.Params, f.Results) {
			if !slices.Contains([]abi.ValueType{abi.I32, abi.I64, abi.F32, abi.F64}, t) {
				return fmt.Errorf("%s: type %v: %w (want i32, i64, f32 or f64)", name, t, ErrConfig)
			}
		}
		seen[f.fullName()] = true
	}
	return nil
}

// takenModule reports whether an import module belongs to the host.
func takenModule(name string) bool {
	return name == offered.WASI || name == abi.EnvModule || name == offered.OldEnv || strings.HasPrefix(name, wasmbin.HostPrefix)
}

// offerFunctions adds the embedder's functions to the modules that guests import.
func offerFunctions(rt wazero.Runtime, modules map[string]wazero.HostModuleBuilder, fs []Function) {
	for i := range fs {
		f := &fs[i]
		exportTo(rt, modules, f.Module, f.Name, valueTypes(f.Params), valueTypes(f.Results), guest.Blocking(f.run))
	}
}

// run calls the function for a guest, if the plugin is granted it.
func (f *Function) run(c *guest.Call, stack []uint64) {
	name := f.fullName()
	if !pluginOf(c.Instance).granted.function(f) {
		panic(denied("function "+name, "grants.functions"))
	}
	ctx, cancel := c.Bounded()
	defer cancel()
	ctx, within := c.Nested(ctx)
	if err := f.safely(ctx, c, stack); err != nil {
		c.Stop()
		code := abi.ReasonTrap
		var own *guest.Fault
		if errors.As(err, &own) {
			code = own.Reason
		}
		panic(&guest.Fault{Reason: code, Err: fmt.Errorf("host function %s: %w", name, err), Remedy: guest.NoRemedy})
	}
	c.Spend(within.Spent.Load())
}

// safely turns a panic of the embedder's code into an error. It passes on a panic with a
// fault of the host, such as the end of the call's time.
func (f *Function) safely(ctx context.Context, c *guest.Call, stack []uint64) (err error) {
	defer func() {
		switch r := recover().(type) {
		case nil:
		case *guest.Fault:
			panic(r)
		default:
			pluginOf(c.Instance).log.Error("host function panicked", "function", f.fullName(), "panic", r)
			err = fmt.Errorf("panicked: %v", r)
		}
	}()
	return f.Call(ctx, &Guest{c}, stack[:max(len(f.Params), len(f.Results))])
}

// function reports whether an embedder's function is granted.
func (g *granted) function(f *Function) bool {
	return slices.ContainsFunc(g.functions, func(name string) bool {
		return name == f.fullName() || name == f.Name && f.Module == UserModule
	})
}

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
		abi.ImportKVGet:       kvGet,
		abi.ImportKVSet:       kvSet,
		abi.ImportCountTokens: guest.Slow(countTokens),
	}
	maps.Copy(all, guest.Functions)
	return all
}()
