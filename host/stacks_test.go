package host_test

import (
	"runtime"
	"testing"

	"github.com/anchor-host/anchor-host/host"
)

// deepModule has a function that calls itself a million times, and ends well, by three
// names.
const deepModule = "\x00asm\x01\x00\x00\x00" +
	"\x01\x0a\x02\x60\x01\x7e\x01\x7e\x60\x00\x01\x7f" + // types (i64) -> (i64), () -> (i32)
	"\x03\x03\x02\x00\x01\x05\x03\x01\x00\x01" +
	"\x07\x16\x04\x06memory\x02\x00\x01a\x00\x01\x01b\x00\x01\x01c\x00\x01" +
	"\x0a\x23\x02" +
	"\x15\x00\x20\x00\x50\x04\x7e\x42\x00\x05\x20\x00\x42\x01\x7d\x10\x00\x42\x01\x7c\x0b\x0b" + // n == 0 ? 0 : f(n-1) + 1
	"\x0b\x00\x42\xc0\x84\x3d\x10\x00\x1a\x41\x00\x0b"

// An instance keeps one stack that has grown, however many of its functions called
// deep, and only where the host has room for it.
func TestStacksAreGivenBack(t *testing.T) {
	spec, err := host.ReadSpec("deep", []byte(deepModule), nil)
	if err != nil {
		t.Fatal(err)
	}
	const one = 84 << 20
	for budget, most := range map[int64]int64{0: one, 64 << 20: 0} {
		h := newHost(t, host.Config{Memory: budget})
		for _, state := range []string{host.StateKeep, host.StateReset} {
			p, err := h.Load(t.Context(), spec, host.PluginConfig{State: state, Limits: host.Limits{Instances: 1}})
			if err != nil {
				t.Fatal(err)
			}
			held := func() int64 {
				host.Settle(p)
				runtime.GC()
				runtime.GC() // what a pool of the first still held
				var m runtime.MemStats
				runtime.ReadMemStats(&m)
				return int64(m.HeapAlloc)
			}
			before := held()
			_, accounted := host.Usage(h)
			for _, function := range p.Spec().Functions {
				if _, err := p.Call(t.Context(), function, nil); err != nil {
					t.Fatal(err)
				}
			}
			more := held() - before
			_, now := host.Usage(h)
			if more > most+8<<20 || more > now-accounted+8<<20 {
				t.Errorf("%s: the plugin holds %d KiB more than before its calls, of which %d are accounted for", state, more>>10, (now-accounted)>>10)
			}
			if err := p.Close(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// Handles are made once: the stack of a call that was not deep is recognised as such.
func TestHandlesAreKept(t *testing.T) {
	p := load(t, newHost(t, host.Config{}), "foreign", host.PluginConfig{State: host.StateKeep})
	for _, function := range p.Spec().Functions {
		if size := host.StackSize(t, p, function); size < 1<<10 || size > 64<<10 {
			t.Errorf("the stack of %s has %d bytes", function, size)
		}
	}
}
