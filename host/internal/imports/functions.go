package imports

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/host/internal/guest"
	"github.com/anchor-host/anchor-host/host/internal/offered"
	"github.com/anchor-host/anchor-host/host/internal/wasmbin"
	"github.com/anchor-host/anchor-host/host/spec"
)

// Function is a function of the embedder that guests can import.
type Function struct {
	// Module is the import module, Name the name in it.
	Module, Name string
	// Params and Results are the types of its parameters and results.
	Params, Results []abi.ValueType
	// Call is the code of the embedder, which serves a call of a guest. The stack holds the
	// parameters, each in 64 bits, and receives the results. It may call plugins under ctx.
	Call func(ctx context.Context, c *guest.Call, stack []uint64) error
}

// fullName is the name of the function in grants and errors.
func (f *Function) fullName() string { return f.Module + "." + f.Name }

// Type is the type of the function as text.
func (f *Function) Type() string {
	types := func(ts []abi.ValueType) []wasmbin.ValueType {
		out := make([]wasmbin.ValueType, len(ts))
		for i, t := range ts {
			out[i] = wasmbin.ValueType(t)
		}
		return out
	}
	return wasmbin.FuncType{Params: types(f.Params), Results: types(f.Results)}.String()
}

// Check refuses functions that no guest could import, and duplicates. Errors wrap
// spec.ErrConfig.
func Check(fs []Function) error {
	seen := map[string]bool{}
	for i := range fs {
		f := &fs[i]
		name := fmt.Sprintf("function %q", f.fullName())
		switch {
		case f.Module == "" || f.Name == "" || f.Call == nil:
			return fmt.Errorf("%s: %w (it needs a module, a name and Call)", name, spec.ErrConfig)
		case takenModule(f.Module), f.Module == abi.UserModule && strings.HasPrefix(f.Name, "anchor_"):
			return fmt.Errorf("%s: %w (the name is taken by this host; use module %q and a name without anchor_)", name, spec.ErrConfig, abi.UserModule)
		case seen[f.fullName()]:
			return fmt.Errorf("%s: %w: it is there twice", name, spec.ErrConfig)
		}
		for _, t := range slices.Concat(f.Params, f.Results) {
			if !slices.Contains([]abi.ValueType{abi.I32, abi.I64, abi.F32, abi.F64}, t) {
				return fmt.Errorf("%s: type %v: %w (want i32, i64, f32 or f64)", name, t, spec.ErrConfig)
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

// run calls the function for a guest, if the plugin is granted it.
func (f *Function) run(c *guest.Call, stack []uint64) {
	name := f.fullName()
	if !of(c).may(f) {
		panic(denied("function "+name, "grants.functions"))
	}
	ctx, cancel := c.Bounded()
	defer cancel()
	ctx, within := c.Nested(ctx)
	if err := f.safely(ctx, c, stack); err != nil {
		c.Stop()
		code := abi.ReasonTrap
		if own, ok := errors.AsType[*guest.Fault](err); ok {
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
			c.Instance.Env.Log.Error("host function panicked", "function", f.fullName(), "panic", r)
			err = fmt.Errorf("panicked: %v", r)
		}
	}()
	return f.Call(ctx, c, stack[:max(len(f.Params), len(f.Results))])
}

// may reports whether an embedder's function is granted.
func (p *Plugin) may(f *Function) bool {
	return slices.ContainsFunc(p.Functions, func(name string) bool {
		return name == f.fullName() || name == f.Name && f.Module == abi.UserModule
	})
}
