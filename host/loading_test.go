package host_test

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/anchor-host/anchor-host/host"
	"github.com/anchor-host/anchor-host/host/spec"
)

// costly is a module that takes the compiler about a second, and no longer than is allowed.
func costly() []byte {
	body := append([]byte{0x00, 0x41, 0x00}, bytes.Repeat([]byte{0x28, 0x02, 0x00}, 60_000)...)
	return foreignModule(1, bytes.Repeat(sized(append(body, 0x0b)), 3), nil, 3)
}

func foreign(t *testing.T, wasm []byte) *spec.Spec {
	t.Helper()
	spec, err := spec.Read("costly", wasm, nil)
	if err != nil {
		t.Fatal(err)
	}
	return spec
}

// Load leaves when its context ends, and Close when its own does.
func TestLoadLeavesAtItsDeadline(t *testing.T) {
	h := newHost(t, host.Config{CacheDir: host.CacheOff})
	load(t, h, "no-change", host.PluginConfig{}) // so that the engine is there
	spec := foreign(t, costly())
	began := time.Now()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := h.Load(ctx, spec, host.PluginConfig{}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error %v", err)
	}
	checkTime(t, time.Since(began), 50*time.Millisecond, true)
	if err := h.Close(ctx); !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "being compiled") {
		t.Errorf("close: error %v", err)
	}
	if err := h.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if _, err := h.Load(t.Context(), spec, host.PluginConfig{}); !errors.Is(err, host.ErrClosed) {
		t.Errorf("closed: error %v", err)
	}
}

// The interpreter bounds calls by their number. A module whose calls could take more
// than it may of memory is refused there.
func TestInterpretedFrames(t *testing.T) {
	recursion := func(locals int) []byte { // a function of so many v128 locals that calls itself
		body := append(leb([]byte{1}, locals), 0x7b)
		return foreignModule(1, sized(append(body, 0x10, 0x00, 0x0b)), nil, 1)
	}
	h := newHost(t, host.Config{})
	_, err := h.Load(t.Context(), foreign(t, recursion(40_000)), host.PluginConfig{Engine: host.EngineInterpreter})
	if !errors.Is(err, host.ErrTooLarge) || !strings.Contains(err.Error(), "interpreter's stack") {
		t.Errorf("error %v", err)
	}
	p, err := h.Load(t.Context(), foreign(t, recursion(500)), host.PluginConfig{Engine: host.EngineInterpreter})
	if err != nil {
		t.Fatal(err)
	}
	if _, held := host.Usage(h); held < 500*8*2000 {
		t.Errorf("%d bytes are accounted for", held)
	}
	if _, err := p.Call(t.Context(), "run", nil); err == nil || !strings.Contains(err.Error(), "2000 deep") {
		t.Errorf("error %v", err)
	}
	err = p.Close(t.Context())
	if _, held := host.Usage(h); err != nil || held != 0 {
		t.Errorf("error %v, %d bytes are accounted for", err, held)
	}
}
