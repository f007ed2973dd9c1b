package host_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/anchor-host/anchor-host/abi"
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

// outcome is what a caller sees of a call, in one text.
func outcome(r *host.CallResult, err error) string {
	if err != nil {
		return "error " + err.Error()
	}
	return fmt.Sprintf("%d bytes %q, log %q, fuel %d, memory %d", len(r.Output), r.Output[:min(len(r.Output), 50)], r.Log, r.Fuel, r.Memory)
}

// The same calls have the same outcome through both kernels: outputs, errors,
// fuel.
func TestSameThroughBothKernels(t *testing.T) {
	inputs := []string{"", "x", "1234567", "12345678", strings.Repeat("long ", 20_000)}
	var seen []map[string]string
	kernels(t, func(t *testing.T, cfg host.Config) {
		h := newHost(t, cfg)
		got := map[string]string{}
		for _, name := range []string{"foreign", "foreign-old", "foreign-calls", "wild-handles", "guest-error", "output-out-of-bounds", "output-too-large", "stateful"} {
			p := load(t, h, name, host.PluginConfig{
				Config: map[string]string{"\x00": "value"}, Limits: host.Limits{Instances: 1, Timeout: time.Minute},
			})
			for _, function := range p.Spec().Functions {
				if name == "stateful" && function != "count" || strings.HasSuffix(function, "_forever") {
					continue // how a call ends that does not end is another test
				}
				for i, input := range inputs {
					got[fmt.Sprint(name, " ", function, " ", i)] = outcome(p.Call(t.Context(), function, []byte(input)))
				}
			}
		}
		seen = append(seen, got)
	})
	if len(seen) != 2 {
		return
	}
	for call, want := range seen[0] {
		if got := seen[1][call]; got != want {
			t.Errorf("%s: linked %s\nlocal %s", call, want, got)
		}
	}
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

// What a guest holds in the kernel counts for its limit and for the host's
// budget, and is given back when the call is over.
func TestKernelMemoryCounts(t *testing.T) {
	kernels(t, func(t *testing.T, cfg host.Config) {
		cfg.Memory = 64 << 20
		h := newHost(t, cfg)
		p := load(t, h, "foreign-calls", host.PluginConfig{Limits: host.Limits{Memory: 16 << 20, Instances: 1, Timeout: time.Minute}})
		hold := func(mib int) error {
			_, err := p.Call(t.Context(), "hold", []byte(fmt.Sprintf("%03d", mib)))
			return err
		}
		if err := hold(14); err != nil {
			t.Error(err)
		}
		if _, used := host.Usage(h); used < 14<<20 {
			t.Errorf("the host counts %d bytes for 14 MiB", used)
		}
		checkReason(t, hold(17), abi.ReasonMemory)
		if err := hold(14); err != nil {
			t.Error("after a call that was refused memory:", err)
		}
		// The guest's own memory and the kernel's share the limit.
		if _, err := p.Call(t.Context(), "grow", []byte("010")); err != nil {
			t.Error(err)
		}
		checkReason(t, hold(14), abi.ReasonMemory)

		// The host's budget bounds all of them together.
		cfg.Memory = 8 << 20
		p = load(t, newHost(t, cfg), "foreign-calls", host.PluginConfig{Limits: host.Limits{Memory: 64 << 20, Instances: 1, Timeout: time.Minute}})
		checkReason(t, hold(12), abi.ReasonMemory)
	})
}

// An input that does not fit is an error, not an empty input.
func TestInputThatDoesNotFit(t *testing.T) {
	kernels(t, func(t *testing.T, cfg host.Config) {
		p := load(t, newHost(t, cfg), "foreign", host.PluginConfig{Limits: host.Limits{Memory: 1 << 20}})
		_, err := p.Call(t.Context(), "echo", make([]byte, 2<<20))
		checkReason(t, err, abi.ReasonInputTooLarge)
		if _, err := p.Call(t.Context(), "echo", make([]byte, 1<<10)); err != nil {
			t.Error("the next call:", err)
		}
	})
}

// A guest that has the kernel work without end is stopped in time.
func TestKernelWorkEndsWithTheTime(t *testing.T) {
	t.Parallel()
	kernels(t, func(t *testing.T, cfg host.Config) {
		const timeout = 100e6
		p := load(t, newHost(t, cfg), "foreign-calls", host.PluginConfig{Limits: host.Limits{Timeout: timeout, Memory: 256 << 20}})
		for _, name := range []string{"reuse_forever", "load_forever", "error_forever"} {
			t.Run(name, func(t *testing.T) { checkStop(t, p, name, timeout) })
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
