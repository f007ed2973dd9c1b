package host_test

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime/debug"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/anchor-host/anchor-host/host"
	"github.com/anchor-host/anchor-host/host/spec"
)

// bomb is a random module that costs its host more than it costs its author: units are
// repeated in its functions, each of which stands for another way to be expensive.
func bomb(r *rand.Rand) []byte {
	units := []string{
		"\x41\x00\x28\x02\x00\x1a",                         // load
		"\x41\x00\x42\x01\x37\x03\x00",                     // store
		"\x20\x02\xa8\x21\x00",                             // trunc
		"\x20\x00\x04\x40\x05\x0b",                         // if, else
		"\x20\x00\x04\x40\x00\x0b",                         // if, trap
		"\x02\x40\x20\x00\x0d\x00\x0b",                     // block, br_if
		"\x02\x40\x20\x00\x0e\x03\x00\x00\x00\x00\x0b",     // br_table
		"\x03\x40\x0b",                                     // loop
		"\x20\x00\x20\x00\x6d\x21\x00",                     // div
		"\x20\x03\x20\x03\xa4\x21\x03",                     // min
		"\x20\x00\x20\x00\x20\x00\xfc\x0b\x00",             // memory.fill
		"\x10\x00\x1a",                                     // call
		"\x20\x04\x20\x04\xfd\x62\xfd\x0e\x21\x04",         // vectors
		"\x41\x01\x1a",                                     // dead
		"\x20\x00\x67\x21\x00",                             // clz
		"\x20\x00\x04\x40\x41\x00\x0f\x0b",                 // if, return
		"\x20\x00\x40\x00\x1a",                             // memory.grow
		"\x20\x00\x04\x40\x10\x00\x1a\x05\x10\x00\x1a\x0b", // calls in arms
	}
	locals := 1 << r.IntN(15)
	body := append(leb([]byte("\x06\x01\x7f\x01\x7e\x01\x7d\x01\x7c\x01\x7b"), locals), 0x7f)
	height, depth := 0, 0
	if r.IntN(3) == 0 {
		height = 1 << r.IntN(12)
	}
	if r.IntN(3) == 0 {
		depth = 1 << r.IntN(12)
	}
	body = append(body, bytes.Repeat([]byte("\x41\x00\x28\x02\x00"), height)...)
	body = append(body, bytes.Repeat([]byte("\x02\x40"), depth)...)
	for range 1 + r.IntN(3) {
		var unit []byte
		for range 1 + r.IntN(3) {
			unit = append(unit, units[r.IntN(len(units))]...)
		}
		if r.IntN(4) == 0 {
			unit = append(leb(append(unit, "\x20\x00\x21"...), 5+r.IntN(locals)), "\x01"...)
		}
		body = append(body, bytes.Repeat(unit, 1<<(4+r.IntN(13)))...)
	}
	body = append(body, bytes.Repeat([]byte{0x0b}, depth)...)
	body = append(body, bytes.Repeat([]byte{0x1a}, height)...)
	body = append(body, 0x41, 0, 0x0b)
	functions := 1
	if r.IntN(2) == 0 {
		functions = 1 << r.IntN(11)
	}
	functions = max(1, min(functions, (20<<20)/len(body)))
	return foreignModule(1, bytes.Repeat(sized(body), functions), nil, functions)
}

// peak is what the process takes at most while f runs beyond what it took before, in bytes.
func peak(t *testing.T, f func()) int64 {
	t.Helper()
	debug.FreeOSMemory()
	if os.WriteFile("/proc/self/clear_refs", []byte("5"), 0) != nil {
		t.Skip("the peak cannot be measured here")
	}
	before := statusOf(t, "VmRSS")
	f()
	return statusOf(t, "VmHWM") - before
}

func statusOf(t *testing.T, key string) int64 {
	t.Helper()
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Skip(err)
	}
	for line := range strings.Lines(string(text)) {
		if fields := strings.Fields(line); fields[0] == key+":" {
			n, _ := strconv.ParseInt(fields[1], 10, 64)
			return n << 10
		}
	}
	t.Skip("no " + key)
	return 0
}

// Random modules near what may be loaded are refused before wazero sees them, or take no
// more than is stated: one and a half times the memory, for the collector's sake, and twice
// the time, for that of its processors.
func TestRandomBombs(t *testing.T) {
	if underRace {
		t.Skip("measures memory and time")
	}
	n := 6
	if thorough {
		n = 40
	}
	seed := uint64(1)
	if s, err := strconv.ParseUint(os.Getenv("ANCHOR_BOMBS"), 10, 64); err == nil {
		seed, n = s, 300
	}
	accepted := 0
	for i := range n {
		engine := []host.Engine{host.EngineCompiler, host.EngineCompiler, host.EngineInterpreter}[i%3]
		wasm := bomb(rand.New(rand.NewPCG(seed, uint64(i))))
		spec, err := spec.Read("bomb", wasm, nil)
		if err != nil {
			t.Fatalf("bomb %d: %v", i, err)
		}
		e := spec.LoadEstimate(engine == host.EngineInterpreter)
		if e.Memory > 2*e.MaxMemory || e.Time > 2*e.MaxTime {
			continue // far beyond; to load it takes too long for a test that fails
		}
		var took time.Duration
		top := peak(t, func() { took, err = loadBomb(t.Context(), spec, engine) })
		text := fmt.Sprintf("bomb %d, %d bytes, %s: %d MiB, estimated %d (%s), %v, estimated %v (%s), error %v", i, len(wasm), engine, top>>20,
			e.Memory>>20, e.MemoryFor, took.Round(time.Millisecond), e.Time.Round(time.Millisecond), e.TimeFor, err)
		t.Log(text)
		refused := e.Memory > e.MaxMemory || e.Time > e.MaxTime
		if !refused && err == nil {
			accepted++
		}
		if err != nil && !strings.Contains(err.Error(), "takes") && !strings.Contains(err.Error(), "take up to") && !strings.Contains(err.Error(), "locals × blocks") ||
			!refused && (top > e.MaxMemory+e.MaxMemory/2 || took > 2*e.MaxTime) || refused && err == nil {
			t.Error(text)
		}
	}
	if accepted < n/6 {
		t.Errorf("%d of %d are accepted: the generator misses the bounds", accepted, n)
	}
}

func loadBomb(ctx context.Context, spec *spec.Spec, engine host.Engine) (time.Duration, error) {
	h, err := host.New(host.Config{CacheDir: host.CacheOff})
	if err != nil {
		return 0, err
	}
	began := processorTime()
	_, err = h.Load(ctx, spec, host.PluginConfig{Engine: engine, State: host.StateKeep})
	took := processorTime() - began
	if e := h.Close(ctx); err == nil {
		err = e
	}
	return took, err
}

// processorTime is what the process used of its processors: machines are busy.
func processorTime() time.Duration {
	var r syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &r)
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}
