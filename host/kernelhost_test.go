package host_test

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/anchor-host/anchor-host/host"
)

// kernels runs a test with guests that are linked to their kernel, and with the
// kernel in Go.
func kernels(t *testing.T, f func(t *testing.T, cfg host.Config)) {
	t.Run("linked", func(t *testing.T) {
		if portable() {
			t.Skip("everything runs with the kernel in Go")
		}
		f(t, host.Config{})
	})
	t.Run("local", func(t *testing.T) { f(t, host.Config{Portable: true}) })
}

// TestKernelIsLinked makes sure that the tests of both kernels test both.
func TestKernelIsLinked(t *testing.T) {
	kernels(t, func(t *testing.T, cfg host.Config) {
		p := load(t, newHost(t, cfg), "foreign", host.PluginConfig{})
		if host.Linked(p) == cfg.Portable {
			t.Errorf("linked %v", host.Linked(p))
		}
		p = load(t, newHost(t, cfg), "foreign", host.PluginConfig{Engine: host.EngineInterpreter})
		if host.Linked(p) {
			t.Error("linked in the interpreter")
		}
	})
}

// A stock Go guest with Extism's own kit has its input back.
func TestGoEcho(t *testing.T) {
	kernels(t, func(t *testing.T, cfg host.Config) {
		p := loadEcho(t, newHost(t, cfg))
		for _, n := range []int{0, 1, 64, 4095, 64 << 10, 1<<20 + 3} {
			input := bytes.Repeat([]byte("abcdefghijk"), n/11+1)[:n]
			if r, err := p.Call(t.Context(), "echo", input); err != nil || !bytes.Equal(r.Output, input) {
				t.Errorf("%d bytes: %v", n, err)
			}
		}
	})
}

// A plugin that imports nothing of Extism has no kernel.
func TestNoKernelWithoutImports(t *testing.T) {
	h := newHost(t, host.Config{})
	p := load(t, h, "batch-keep-first", host.PluginConfig{})
	if host.Linked(p) {
		t.Error("it has a kernel")
	}
	if _, used := host.Usage(h); used > 64<<10+host.ImageSize(p) {
		t.Errorf("the host counts %d bytes for a page", used)
	}
}

// BenchmarkEcho is a stock Go guest that echoes through Extism's functions, with
// an instance that is kept: linked to its kernel, and with the kernel in Go.
func BenchmarkEcho(b *testing.B) {
	for _, size := range []int{64, 4 << 10, 64 << 10, 1 << 20} {
		for _, k := range []string{"linked", "local"} {
			b.Run(fmt.Sprintf("%s/%d", k, size), func(b *testing.B) {
				p := loadEcho(b, newHost(b, host.Config{Portable: k == "local"}))
				input := make([]byte, size)
				b.SetBytes(int64(size))
				b.ReportAllocs()
				for b.Loop() {
					if _, err := p.Call(b.Context(), "echo", input); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
