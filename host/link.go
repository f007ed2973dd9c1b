package host

import (
	"context"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"

	"github.com/anchor-host/anchor-host/host/internal/kernel"
)

// This file alone links modules to each other. wazero calls that experimental:
// works tries it out, and without it the host's own functions serve.

// resolving returns a context under which a module is instantiated with its
// imports from the modules that resolve returns; nil leaves it to the runtime.
// resolve must not return a module for a name that the guest was not checked
// against: all its exports are within reach.
func resolving(ctx context.Context, resolve func(module string) api.Module) context.Context {
	return experimental.WithImportResolver(ctx, resolve)
}

// works links a module to a kernel and calls it.
func (l *linkedKernel) works(ctx context.Context) (ok bool) {
	defer func() {
		if recover() != nil {
			ok = false
		}
	}()
	mod, k, err := l.open(ctx)
	if err != nil {
		return false
	}
	defer k.Close()
	ctx = resolving(ctx, func(string) api.Module { return mod })
	guest, err := l.rt.InstantiateWithConfig(ctx, kernel.Probe(), wazero.NewModuleConfig().WithName("").WithStartFunctions())
	if err != nil {
		return false
	}
	defer guest.Close(ctx)
	r, err := guest.ExportedFunction("probe").Call(ctx)
	return err == nil && len(r) == 1 && r[0] == 40 && k.Size() == kernel.PageSize
}
