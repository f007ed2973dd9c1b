package host

import (
	"context"
	"fmt"
	"strings"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/host/internal/kernel"
	"github.com/anchor-host/anchor-host/host/internal/linear"
	"github.com/anchor-host/anchor-host/host/internal/wazerox"
)

// room is what one instance may hold in linear memory: that of the guest and
// that of its kernel together, whose first page is not counted.
type room struct{ limit, used int64 }

// change takes n bytes, or gives back what is negative, and reports whether
// there was room.
func (r *room) change(n int64) bool {
	if n > 0 && n > r.limit-r.used {
		return false
	}
	r.used += n
	return true
}

// countedMemory is a memory that is one of several in a room.
type countedMemory struct {
	*linear.Memory
	room *room
	size uint64
}

// Reallocate implements wazerox.Memory.
func (m *countedMemory) Reallocate(size uint64) []byte {
	delta := int64(size) - int64(m.size)
	if !m.room.change(delta) {
		m.Refused = true
		return nil
	}
	b := m.Memory.Reallocate(size)
	if b == nil {
		m.room.change(-delta)
		return nil
	}
	m.size = size
	return b
}

// openKernel gives the instance its kernel, and returns the context in which the
// guest is linked to it.
func (in *instance) openKernel(ctx context.Context) (context.Context, error) {
	p := in.plugin
	in.local = kernel.NewLocal(in.resizeKernel)
	in.kernel = in.local
	if !p.usesKernel() || p.engine.linked == nil {
		return ctx, nil
	}
	lin := linear.New(uint64(p.limits.Memory)+kernel.PageSize, in.account)
	mod, k, err := p.engine.linked.open(wazerox.WithMemory(ctx, &countedMemory{Memory: lin, room: &in.room}))
	if err != nil {
		lin.Free()
		if in.crowded { // wazero's words for it say nothing
			what, _ := in.noRoom()
			err = faultf(abi.ReasonMemory, "%s for the memory of the Extism functions", what)
		}
		return ctx, err
	}
	in.kernel, in.kernelModule, in.local = k, mod, nil
	return wazerox.Resolving(ctx, func(module string) api.Module {
		if module == abi.EnvModule || module == oldEnvModule {
			return mod
		}
		return nil
	}), nil
}

// resizeKernel accounts for the kernel in Go.
func (in *instance) resizeKernel(delta int64) bool {
	if !in.room.change(delta) {
		return false
	}
	if !in.account(delta) {
		in.room.change(-delta)
		return false
	}
	return true
}

// lightImport says which imports weigh little: those of the kernel. They are to
// weigh the same in every embodiment of it.
func lightImport(module, name string) bool {
	if module == oldEnvModule {
		module, name = abi.EnvModule, strings.TrimPrefix(name, oldEnvPrefix)
	}
	return module == abi.EnvModule && kernel.LocalFunctions[name] != nil
}

// inertImport says which of them call nothing of the guest: those of a module whose
// name no link can take.
func inertImport(module, _ string) bool { return module == abi.EnvModule }

// localFunc is a function of the kernel in Go, nil if the kernel has none of
// that name.
func localFunc(name string) hostFunc {
	fn := kernel.LocalFunctions[name]
	switch {
	case fn == nil:
		return nil
	case name == "alloc":
		return func(c *callState, s []uint64) {
			fn(c.inst.local, s)
			c.spend(0)
		}
	}
	return func(c *callState, s []uint64) { fn(c.inst.local, s) }
}

// offerSettle instantiates what the kernel calls when it has worked for a slice
// of fuel.
func offerSettle(ctx context.Context, rt wazero.Runtime) error {
	_, err := rt.NewHostModuleBuilder(kernel.HostModule).NewFunctionBuilder().
		WithGoFunction(api.GoFunc(func(ctx context.Context, _ []uint64) { stateOf(ctx).spend(0) }), nil, nil).
		Export(kernel.SettleName).Instantiate(ctx)
	return err
}

// linkedKernel makes kernels that guests are linked to.
type linkedKernel struct {
	rt       wazero.Runtime
	compiled wazero.CompiledModule
	shrink   func(api.Memory, uint32) bool
}

// findKernel settles whether guests are linked to their kernels. The caller holds
// settling. Interpreted, a call of the host costs less than the kernel
// would.
func (e *engine) findKernel(ctx context.Context) {
	if e.settled {
		return
	}
	e.settled = true
	if e.kind == EngineInterpreter || !e.features.On(wazerox.Linking) {
		return
	}
	var env []abi.Signature
	for _, s := range abi.Imports {
		if s.Module == abi.EnvModule {
			env = append(env, s)
		}
	}
	compiled, err := e.compile(ctx, kernel.Module(env, oldEnvPrefix))
	if err != nil {
		return
	}
	e.linked = &linkedKernel{rt: e.rt, compiled: compiled, shrink: func(api.Memory, uint32) bool { return false }}
	if e.features.On(wazerox.Shrinking) {
		e.linked.shrink = wazerox.Shrink
	}
}

// kernelConfig has a source of random numbers, which a kernel does not need: wazero
// would make one for each.
var kernelConfig = wazero.NewModuleConfig().WithName("").WithStartFunctions().WithRandSource(randomSource)

// open makes a kernel. Its memory is that of the context.
func (l *linkedKernel) open(ctx context.Context) (mod api.Module, k *kernel.Linked, err error) {
	defer func() {
		if r := recover(); r != nil { // wazero's way to say that the first page was refused
			mod, k, err = nil, nil, faultf(abi.ReasonMemory, "no room for the memory of the Extism functions: %v", r)
		}
	}()
	mod, err = l.rt.InstantiateModule(ctx, l.compiled, kernelConfig)
	if err != nil {
		return nil, nil, fmt.Errorf("make kernel: %w", err)
	}
	if k, err = kernel.Open(mod, l.shrink); err != nil {
		_ = mod.Close(ctx) // the error that led here says more
		return nil, nil, err
	}
	return mod, k, nil
}
