package host_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/host"
	"github.com/anchor-host/anchor-host/host/spec"
	"github.com/anchor-host/anchor-host/internal/testkit/testbuild"

	"github.com/anchor-host/anchor-host/tokens"
)

// compilations counts the modules a host compiles.
type compilations struct {
	mu          sync.Mutex
	begun, done []string
}

func (c *compilations) note(plugin string, done bool, took time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if done {
		c.done = append(c.done, plugin)
	} else {
		c.begun = append(c.begun, plugin)
	}
}

func TestOneCompilationPerModule(t *testing.T) {
	var c compilations
	h := newHost(t, host.Config{OnCompile: c.note})
	var wg sync.WaitGroup
	for _, name := range []string{"a", "b", "c"} {
		wg.Add(1)
		go func() {
			defer wg.Done()
			if _, err := h.Load(t.Context(), fixture(t, "no-change").Spec, host.PluginConfig{Name: name}); err != nil {
				t.Error(err)
			}
		}()
	}
	wg.Wait()
	if len(c.begun) != 1 || len(c.done) != 1 || c.begun[0] != c.done[0] {
		t.Errorf("compilations begun %q, done %q (want one)", c.begun, c.done)
	}
	p, err := h.Load(t.Context(), fixture(t, "trap").Spec, host.PluginConfig{})
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	load(t, h, "trap", host.PluginConfig{})
	if len(c.done) != 3 {
		t.Errorf("compilations %q (want trap twice: its only user was closed in between)", c.done)
	}
}

// cacheFiles are the files of the entries of a cache.
func cacheFiles(t *testing.T, dir string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "wazero-*", "*", "*"))
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// cached loads a filter in a host of its own, as another process does, and checks
// what it does.
func cached(t *testing.T, dir string) error {
	t.Helper()
	ctx := context.Background()
	h, err := host.New(host.Config{CacheDir: dir, Tokenizer: tokens.Words{}})
	if err != nil {
		return err
	}
	defer h.Close(ctx)
	p, err := h.Load(ctx, fixture(t, "keep-first").Spec, host.PluginConfig{})
	if err != nil {
		return err
	}
	s, err := newStep(p, abi.OpFilter, host.OperationOptions{})
	if err != nil {
		return err
	}
	out, err := s.Run(ctx, nothing, twoRows())
	if err == nil && len(out) != 1 {
		err = fmt.Errorf("items %v", out)
	}
	return err
}

// A cache that cannot be used is no reason to fail.
func TestUnusableCache(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{host.CacheOff, file, filepath.Join(file, "below")} {
		load(t, newHost(t, host.Config{CacheDir: dir}), "keep-first", host.PluginConfig{})
	}
	dir := t.TempDir()
	h := newHost(t, host.Config{CacheDir: dir})
	load(t, h, "no-change", host.PluginConfig{})
	for _, f := range cacheFiles(t, dir) {
		if err := os.RemoveAll(filepath.Dir(f)); err != nil {
			t.Fatal(err)
		}
	}
	load(t, h, "keep-first", host.PluginConfig{})
}

// Loading that is canceled while it compiles says so.
func TestCanceledWhileCompiling(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	h := newHost(t, host.Config{CacheDir: host.CacheOff, OnCompile: func(string, bool, time.Duration) { cancel() }})
	for range 8 { // it may notice at one place or another
		_, err := h.Load(ctx, fixture(t, "foreign").Spec, host.PluginConfig{})
		if !errors.Is(err, context.Canceled) || errors.Is(err, host.ErrNotWasm) {
			t.Fatalf("error %v (want that of the context)", err)
		}
	}
}

func TestInterpreter(t *testing.T) {
	h := newHost(t, host.Config{Engine: host.EngineInterpreter})
	for _, name := range []string{"keep-first", "batch-keep-first"} {
		p := load(t, h, name, host.PluginConfig{})
		s, err := newStep(p, abi.OpFilter, host.OperationOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if out, err := s.Run(t.Context(), nothing, twoRows()); err != nil || len(out) != 1 {
			t.Errorf("%s: items %v, error %v", name, out, err)
		}
	}
	for name, want := range map[string]abi.Reason{
		"spin-forever": abi.ReasonTimeout, "recurse-in-width": abi.ReasonTimeout, "recurse-forever": abi.ReasonTrap,
		"trap": abi.ReasonTrap, "exit": abi.ReasonExit,
	} {
		timeout := time.Minute // what ends by itself has its time, on a busy machine too
		if want == abi.ReasonTimeout {
			timeout = 300 * time.Millisecond
		}
		p := load(t, h, name, host.PluginConfig{Limits: host.Limits{Timeout: timeout}})
		s, err := newStep(p, abi.OpFilter, host.OperationOptions{})
		if err != nil {
			t.Fatal(err)
		}
		_, err = s.Run(t.Context(), nothing, twoRows())
		checkReason(t, err, want)
	}
}

func TestClosedHost(t *testing.T) {
	h, err := host.New(host.Config{CacheDir: testbuild.CacheDir(t)})
	if err != nil {
		t.Fatal(err)
	}
	p := load(t, h, "no-change", host.PluginConfig{})
	if err := errors.Join(h.Close(t.Context()), h.Close(t.Context())); err != nil {
		t.Fatal(err)
	}
	if _, err := h.Load(t.Context(), fixture(t, "trap").Spec, host.PluginConfig{}); !errors.Is(err, host.ErrClosed) {
		t.Errorf("load: error %v", err)
	}
	s, err := newStep(p, abi.OpFilter, host.OperationOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Run(t.Context(), nothing, twoRows()); !errors.Is(err, host.ErrClosed) {
		t.Errorf("call: error %v", err)
	}
}

// slowModule is a foreign module with one function of so many locals and
// blocks that the compiler would take minutes for it.
func slowModule() []byte {
	const locals, blocks = 1500, 3000
	body := append(leb([]byte{1}, locals), 0x7f) // one group of i32 locals
	for i := range blocks {
		body = append(body, 0x03, 0x40, 0x20) // loop, local.get i
		body = append(leb(body, i%locals), 0x0d, 0x00, 0x0b)
	}
	body = append(body, 0x41, 0, 0x0b) // i32.const 0, end
	return foreignModule(1, sized(body), nil, 1)
}

// What a module may declare is bounded before anything is made of it.
func TestTooManyDeclarations(t *testing.T) {
	customs := "\x00asm\x01\x00\x00\x00" + strings.Repeat("\x00\x01\x00", 100_001)
	if _, err := spec.Read("many", []byte(customs), nil); !errors.Is(err, host.ErrTooLarge) || errors.Is(err, host.ErrNotWasm) {
		t.Errorf("error %v", err)
	}
}

// A custom section without content is valid, also at the end of a module.
func TestEmptyCustomSection(t *testing.T) {
	h := newHost(t, host.Config{CacheDir: t.TempDir()})
	for range 2 { // the second time from the cache
		spec, err := spec.Read("deep", []byte(deepModule+"\x00\x02\x01x"), nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, engine := range []host.Engine{host.EngineCompiler, host.EngineInterpreter} {
			p, err := h.Load(t.Context(), spec, host.PluginConfig{Engine: engine})
			if err != nil {
				t.Fatalf("%s: %v", engine, err)
			}
			if err := p.Close(t.Context()); err != nil {
				t.Error(err)
			}
		}
	}
}

// A module that is too much for the compiler is refused, and interpreted where the
// operator says so: a guest cannot choose the interpreter by being large.
func TestTooLargeForTheCompiler(t *testing.T) {
	spec, err := spec.Read("slow", slowModule(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(spec.Warnings) != 1 || !strings.HasPrefix(spec.Warnings[0], "is not loaded with the default limits: to load it takes about ") {
		t.Errorf("warnings %q", spec.Warnings)
	}
	h := newHost(t, host.Config{})
	for _, engine := range []host.Engine{host.EngineAuto, host.EngineCompiler} {
		_, err := h.Load(t.Context(), spec, host.PluginConfig{Engine: engine})
		if !errors.Is(err, host.ErrTooLarge) || !strings.Contains(err.Error(), "engine: interpreter") {
			t.Errorf("engine %q: error %v", engine, err)
		}
	}
	p, err := h.Load(t.Context(), spec, host.PluginConfig{Engine: host.EngineInterpreter, Limits: host.Limits{Memory: 128 << 20}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Call(t.Context(), "run", nil); err != nil {
		t.Error(err)
	}
}
