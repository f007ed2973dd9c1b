package guest

import (
	"context"
	"crypto/rand"
	"fmt"
	"strings"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/host/internal/kernel"
	"github.com/anchor-host/anchor-host/host/internal/linear"
	"github.com/anchor-host/anchor-host/host/internal/offered"
	"github.com/anchor-host/anchor-host/host/internal/wazerox"
)

// room bounds the memory of one instance: the linear memories of the guest, its links and its
// kernel, and what is decoded of its answers. The kernel's first page does not count, because
// every kernel has it.
type room struct{ limit, used int64 }

// change takes n bytes, or gives them back if n is negative, and reports whether there was
// room.
func (r *room) change(n int64) bool {
	if n > 0 && n > r.limit-r.used {
		return false
	}
	r.used += n
	return true
}

// countedMemory is one of the linear memories that share a room. The first free bytes of it do
// not count.
type countedMemory struct {
	*linear.Memory
	room       *room
	size, free uint64
}

func (m *countedMemory) Reallocate(size uint64) []byte {
	delta := beyond(size, m.free) - beyond(m.size, m.free)
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

// beyond is how much of a memory counts, in bytes.
func beyond(size, free uint64) int64 { return int64(max(size, free) - free) }

// LightImport reports whether calls of an import cost little fuel. Those of the kernel do, in
// both of its forms, so that a call uses the same fuel with either.
func LightImport(module, name string) bool {
	if module == offered.OldEnv {
		module, name = abi.EnvModule, strings.TrimPrefix(name, offered.OldEnvPrefix)
	}
	return module == abi.EnvModule && kernel.LocalFunctions[name] != nil
}

// InertImport reports whether an import that [LightImport] accepts never calls into the guest.
// That is certain for EnvModule, because no link can have its name.
func InertImport(module, _ string) bool { return module == abi.EnvModule }

// Kernels makes kernels that are modules, which guests are linked to.
type Kernels struct {
	rt       wazero.Runtime
	compiled wazero.CompiledModule
	shrink   func(api.Memory, uint32) bool
}

// NewKernels makes kernels of a compiled one. features are those of the engine that rt is of.
func NewKernels(rt wazero.Runtime, compiled wazero.CompiledModule, features *wazerox.States) *Kernels {
	l := &Kernels{rt: rt, compiled: compiled, shrink: func(api.Memory, uint32) bool { return false }}
	if features.On(wazerox.Shrinking) {
		l.shrink = wazerox.Shrink
	}
	return l
}

// kernelConfig states a source of random numbers, which a kernel does not need, because wazero
// would otherwise make one for each kernel.
var kernelConfig = wazero.NewModuleConfig().WithName("").WithStartFunctions().WithRandSource(rand.Reader)

// open makes a kernel with the memory that ctx provides.
func (l *Kernels) open(ctx context.Context) (mod api.Module, k *kernel.Linked, err error) {
	defer func() {
		if r := recover(); r != nil { // wazero panics if the first page is refused
			mod, k, err = nil, nil, Faultf(abi.ReasonMemory, "no room for the memory of the Extism functions: %v", r)
		}
	}()
	mod, err = l.rt.InstantiateModule(ctx, l.compiled, kernelConfig)
	if err != nil {
		return nil, nil, fmt.Errorf("make kernel: %w", err)
	}
	if k, err = kernel.Open(mod, l.shrink); err != nil {
		_ = mod.Close(ctx) // its error would hide the first one
		return nil, nil, err
	}
	return mod, k, nil
}
