package wazerox

import (
	"testing"

	"github.com/tetratelabs/wazero"

	"github.com/anchor-host/anchor-host/host/internal/linear"
)

func TestShrink(t *testing.T) {
	for _, interpreted := range []bool{false, true} {
		l, err := newLab(t.Context(), interpreted)
		if err != nil {
			t.Fatal(err)
		}
		defer l.close()
		m, mod, _, err := l.withMemory(4)
		if err != nil {
			t.Fatal(err)
		}
		defer m.Memory.Free()
		defer mod.Close(t.Context())
		mem := mod.Memory()
		for _, size := range []uint32{0, 1, linear.PageSize + 1, 2 * linear.PageSize} {
			if Shrink(mem, size) {
				t.Errorf("interpreted %t: shrank to %d bytes", interpreted, size)
			}
		}
		if !Shrink(mem, linear.PageSize) || mem.Size() != linear.PageSize {
			t.Errorf("interpreted %t: the same size is refused", interpreted)
		}
	}
}

// A module without a memory has none, whatever wazero returns for it.
func TestMemoryOf(t *testing.T) {
	rt := wazero.NewRuntime(t.Context())
	defer rt.Close(t.Context())
	for wasm, has := range map[string]bool{"\x00asm\x01\x00\x00\x00": false, "\x00asm\x01\x00\x00\x00\x05\x03\x01\x00\x01": true} {
		mod, err := rt.InstantiateWithConfig(t.Context(), []byte(wasm), unnamed)
		if err != nil {
			t.Fatal(err)
		}
		if mem := MemoryOf(mod); (mem != nil) != has {
			t.Errorf("%q: memory %v", wasm, mem)
		}
	}
}
