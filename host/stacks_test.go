package host_test

import (
	"runtime"
	"testing"

	"github.com/anchor-host/anchor-host/host"
)

// deepModule has a function that calls itself a million times, and ends well.
const deepModule = "\x00asm\x01\x00\x00\x00" +
	"\x01\x0a\x02\x60\x01\x7e\x01\x7e\x60\x00\x01\x7f" + // types (i64) -> (i64), () -> (i32)
	"\x03\x03\x02\x00\x01\x05\x03\x01\x00\x01" +
	"\x07\x10\x02\x06memory\x02\x00\x03run\x00\x01" +
	"\x0a\x23\x02" +
	"\x15\x00\x20\x00\x50\x04\x7e\x42\x00\x05\x20\x00\x42\x01\x7d\x10\x00\x42\x01\x7c\x0b\x0b" + // n == 0 ? 0 : f(n-1) + 1
	"\x0b\x00\x42\xc0\x84\x3d\x10\x00\x1a\x41\x00\x0b"

// A stack that has grown in a call does not stay with the instance, outside of all
// that is accounted for.
func TestStacksAreGivenBack(t *testing.T) {
	spec, err := host.ReadSpec("deep", []byte(deepModule), nil)
	if err != nil {
		t.Fatal(err)
	}
	h := newHost(t, host.Config{})
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
		if _, err := p.Call(t.Context(), "run", nil); err != nil {
			t.Fatal(err)
		}
		if more := held() - before; more > 8<<20 {
			t.Errorf("%s: the plugin holds %d KiB more than before its call", state, more>>10)
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
