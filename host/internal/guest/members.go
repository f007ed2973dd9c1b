package guest

import (
	"context"
	"fmt"
	"slices"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/host/internal/kernel"
	"github.com/anchor-host/anchor-host/host/internal/offered"
	"github.com/anchor-host/anchor-host/host/internal/wasmbin"
	"github.com/anchor-host/anchor-host/host/internal/wazerox"
)

// openLinks makes the instances of the links and returns the context for instantiating the
// guest, which resolves its imports. Each link has the limits of the plugin. Without an image
// the links are also started.
func (in *Instance) openLinks(ctx context.Context, from *Image) (context.Context, error) {
	if len(in.Env.Links) == 0 {
		return ctx, nil
	}
	made, stubs := map[string]api.Module{}, map[string]api.Module{}
	kernels := in.Extism.kernelModule
	ctx = wazerox.Resolving(ctx, func(module string) api.Module {
		if m := made[module]; m != nil {
			return m
		}
		if m := stubs[module]; m != nil {
			return m
		}
		if module == abi.EnvModule || module == offered.OldEnv {
			return kernels
		}
		return nil
	})
	for _, l := range in.Env.Links {
		if l.Stub != nil {
			m, err := in.instantiateOwn(ctx, l.Stub)
			if err != nil {
				return ctx, fmt.Errorf("link %q: %w", l.Name, err)
			}
			stubs[l.Name] = m
		}
	}
	for i, l := range in.Env.Links {
		var im *partImage
		if from != nil {
			im = from.members[i]
		}
		m, err := in.openLink(ctx, l, im)
		if err == nil && l.Filler != nil {
			err = in.closeCircle(ctx, l.Filler, stubs[l.Name], m.mod)
		}
		if err != nil {
			return ctx, fmt.Errorf("link %q: %w", l.Name, err)
		}
		made[l.Name] = m.mod
	}
	if from != nil {
		return ctx, nil
	}
	for i, l := range in.Env.Links {
		if err := in.startLink(l, in.members[i]); err != nil {
			return ctx, fmt.Errorf("link %q: %w", l.Name, err)
		}
	}
	return ctx, nil
}

// openLink makes the instance of one link. With an image its memory starts as in the image.
func (in *Instance) openLink(ctx context.Context, l *Code, from *partImage) (*part, error) {
	m := &part{lent: l.Lends}
	if from != nil && from.memory != nil {
		m.lin, m.filled = in.newShare(from.memory)
	} else {
		m.lin = in.Memory.newLinear(l)
	}
	in.members = append(in.members, m)
	in.Call.Context = wazerox.WithMemory(ctx, &countedMemory{Memory: m.lin, room: &in.Memory.room})
	var err error
	if m.mod, err = in.instantiateModule(l); err != nil {
		return nil, err
	}
	if err := m.find(l); err != nil {
		return nil, err
	}
	if from != nil { // now: modules that import the memory may have data in the grown part
		return m, m.grow(from)
	}
	return m, m.writeData(l)
}

// startLink runs the start section and the starters of a link.
func (in *Instance) startLink(l *Code, m *part) error {
	var names []string
	if l.Open.Start {
		names = append(names, wasmbin.StartExport)
	}
	names = append(names, l.starters()...)
	for _, name := range names {
		if err := in.Stacks.handle(m.mod, name).CallWithStack(&in.Call, in.Exchange.args[:]); err != nil {
			return err
		}
		if err := in.Late(); err != nil {
			return err
		}
	}
	return nil
}

// refused reports whether a memory of the instance could not grow during the call.
func (in *Instance) refused() bool {
	return in.Guest.lin.Refused || in.Extism.Kernel.Refused() || in.Memory.foreign && in.Memory.denied != nil && in.Memory.denied.Get() != 0 ||
		slices.ContainsFunc(in.members, func(m *part) bool { return m.lin.Refused })
}

// closeLinks closes the instances of the links.
func (in *Instance) closeLinks() {
	for _, m := range in.members {
		if m.mod != nil {
			_ = m.mod.Close(context.Background()) // the plugin closes the mounts
		}
		m.lin.Free()
	}
	for _, m := range in.stubs {
		_ = m.Close(context.Background()) // a module without files closes without error
	}
}

// closeCircle puts the functions of a link into the table of its stub.
func (in *Instance) closeCircle(ctx context.Context, filler wazero.CompiledModule, stub, link api.Module) error {
	_, err := in.instantiateOwn(wazerox.Resolving(ctx, func(module string) api.Module {
		if module == kernel.FillModule {
			return stub
		}
		return link
	}), filler)
	return err
}

// instantiateOwn instantiates a module that the host itself made and that has no memory.
// The instance closes it.
func (in *Instance) instantiateOwn(ctx context.Context, m wazero.CompiledModule) (api.Module, error) {
	mod, err := in.Env.Runtime.InstantiateModule(ctx, m, wazero.NewModuleConfig().WithName("").WithStartFunctions())
	if err != nil {
		return nil, err
	}
	in.stubs = append(in.stubs, mod)
	return mod, nil
}
