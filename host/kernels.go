package host

import (
	"context"

	"github.com/tetratelabs/wazero/api"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/host/internal/kernel"
	"github.com/anchor-host/anchor-host/host/internal/wazerox"
)

// findKernel decides whether guests are linked to their kernels. They are not under the
// interpreter, where calling Go code in the host is cheaper than interpreting the kernel. The
// caller holds e.settling.
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
