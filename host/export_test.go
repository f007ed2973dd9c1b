package host

import (
	"testing"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/host/internal/wasmbin"
)

// PoolCounts shows black-box tests how many instances a plugin has.
func PoolCounts(p *Plugin) (total, idle int) { return p.pool.counts() }

// Usage shows what a host holds: instances, and bytes of linear memory.
func Usage(h *Host) (instances, memory int64) { return h.instances.used.Load(), h.memory.used.Load() }

// WithManifest puts a manifest into a module.
func WithManifest(t *testing.T, wasm []byte, manifest string) []byte {
	t.Helper()
	out, err := wasmbin.AppendCustom(wasm, abi.ManifestSection, []byte(manifest))
	if err != nil {
		t.Fatal(err)
	}
	return out
}
