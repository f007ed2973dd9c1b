package host_test

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/tetratelabs/wazero"

	"github.com/anchor-host/anchor-host/host"
)

// costly is a module that takes the compiler about a second, and no longer than is allowed.
func costly() []byte {
	body := append([]byte{0x00, 0x41, 0x00}, bytes.Repeat([]byte{0x28, 0x02, 0x00}, 60_000)...)
	return foreignModule(1, bytes.Repeat(sized(append(body, 0x0b)), 3), nil, 3)
}

func foreign(t *testing.T, wasm []byte) *host.Spec {
	t.Helper()
	spec, err := host.ReadSpec("costly", wasm, nil)
	if err != nil {
		t.Fatal(err)
	}
	return spec
}

// heldBack has compilations of modules of more than 100 KB wait until release is called.
func heldBack(t *testing.T) (begun chan struct{}, release func()) {
	t.Helper()
	begun, gate := make(chan struct{}, 16), make(chan struct{})
	undo := host.SetCompile(func(ctx context.Context, rt wazero.Runtime, wasm []byte) (wazero.CompiledModule, error) {
		if len(wasm) > 100_000 {
			begun <- struct{}{}
			<-gate
		}
		return rt.CompileModule(ctx, wasm)
	})
	t.Cleanup(undo)
	return begun, func() { close(gate) }
}

// Load leaves when its context ends. What it began is there for the next Load.
func TestLoadLeavesAtItsDeadline(t *testing.T) {
	begun, release := heldBack(t)
	h := newHost(t, host.Config{CacheDir: host.CacheOff})
	spec := foreign(t, costly())
	began := time.Now()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := h.Load(ctx, spec, host.PluginConfig{}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error %v", err)
	}
	checkTime(t, time.Since(began), 50*time.Millisecond, true)
	<-begun
	other, err := h.Load(t.Context(), foreign(t, foreignModule(1, zero, nil, 1)), host.PluginConfig{}) // passes
	if err != nil {
		t.Fatal(err)
	}
	if _, err := other.Call(t.Context(), "run", nil); err != nil {
		t.Error(err)
	}
	release()
	for range 2 {
		p, err := h.Load(t.Context(), spec, host.PluginConfig{})
		if err != nil {
			t.Fatal(err)
		}
		if err := p.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}
	if len(begun) > 1 {
		t.Errorf("compiled %d times more", len(begun))
	}
}

// Close waits for what is being compiled as long as its context lasts.
func TestCloseWaitsForCompilations(t *testing.T) {
	begun, release := heldBack(t)
	h, err := host.New(host.Config{CacheDir: host.CacheOff})
	if err != nil {
		t.Fatal(err)
	}
	spec := foreign(t, costly())
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-begun; cancel() }()
	if _, err := h.Load(ctx, spec, host.PluginConfig{}); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	ctx, cancel = context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if err := h.Close(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("close: error %v", err)
	}
	release()
	if err := h.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if _, err := h.Load(t.Context(), spec, host.PluginConfig{}); !errors.Is(err, host.ErrClosed) {
		t.Errorf("closed: error %v", err)
	}
}

// A panic of wazero's compiler is an error of the module. The host goes on.
func TestCompilerPanics(t *testing.T) {
	for _, dir := range []string{host.CacheOff, t.TempDir()} {
		h := newHost(t, host.Config{CacheDir: dir})
		checkOtherPlugin(t, h)
		undo := host.SetCompile(func(context.Context, wazero.Runtime, []byte) (wazero.CompiledModule, error) { panic("BUG") })
		_, err := h.Load(t.Context(), foreign(t, foreignModule(1, bytes.Repeat(zero, 7), nil, 7)), host.PluginConfig{})
		undo()
		if !errors.Is(err, host.ErrNotWasm) || !strings.Contains(err.Error(), "wazero panicked: BUG") {
			t.Errorf("error %v", err)
		}
		checkOtherPlugin(t, h)
	}
}

// Small modules pass large ones for which there is no room.
func TestLoadRoom(t *testing.T) {
	enter := host.LoadRoom(100)
	first, err := enter(t.Context(), 70)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if _, err := enter(ctx, 40); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error %v", err)
	}
	in := make(chan func())
	go func() {
		leave, _ := enter(t.Context(), 1000) // alone
		in <- leave
	}()
	small, err := enter(t.Context(), 30)
	if err != nil {
		t.Fatal(err)
	}
	select {
	case <-in:
		t.Error("came in beside others")
	case <-time.After(10 * time.Millisecond):
	}
	first()
	small()
	(<-in)()
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
