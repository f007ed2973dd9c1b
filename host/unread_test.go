package host_test

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/anchor-host/anchor-host/host"
	"github.com/anchor-host/anchor-host/host/spec"
)

// remembered writes a module and reads it until its file need not be read.
func remembered(t *testing.T, cache, path string, wasm []byte) *spec.Spec {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("files are read each time")
	}
	host.SettleFiles(t, 0)
	if err := os.WriteFile(path, wasm, 0o600); err != nil {
		t.Fatal(err)
	}
	var plugin *spec.Spec
	for range 2 {
		var err error
		if plugin, err = (spec.Reader{CacheDir: cache}).ReadFile(path); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Rename(path, path+".away"); err != nil {
		t.Fatal(err)
	}
	if _, err := plugin.Module().Bytes(); err == nil {
		t.Fatal("the file was read")
	}
	if err := os.Rename(path+".away", path); err != nil {
		t.Fatal(err)
	}
	return plugin
}

// A module in the place of one that was only remembered is not loaded.
func TestLoadReplacedModule(t *testing.T) {
	cache, path := t.TempDir(), filepath.Join(t.TempDir(), "constant.wasm")
	old := remembered(t, cache, path, constant(0))
	if err := os.WriteFile(path, constant(1), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := newHost(t, host.Config{CacheDir: cache}).Load(t.Context(), old, host.PluginConfig{}); !errors.Is(err, host.ErrConfig) {
		t.Errorf("error %v", err)
	}
}

// A module that was not read runs as one that was: with its data, and from the
// caches once they have what it takes.
func TestUnreadModule(t *testing.T) {
	wasm, err := os.ReadFile(filepath.Join(fixtures, "batch-keep-first", "plugin.wasm"))
	if err != nil {
		t.Fatal(err)
	}
	side, err := os.ReadFile(filepath.Join(fixtures, "batch-keep-first", "plugin.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	cache, dir := t.TempDir(), filepath.Join(t.TempDir(), "batch-keep-first")
	if err := errors.Join(os.Mkdir(dir, 0o700), os.WriteFile(filepath.Join(dir, "plugin.yaml"), side, 0o600)); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "plugin.wasm")
	plugin := remembered(t, cache, path, wasm)
	for _, state := range []host.State{host.StateReset, host.StateKeep, host.StateFresh} {
		h := newHost(t, host.Config{CacheDir: cache})
		p, err := h.Load(t.Context(), plugin, host.PluginConfig{State: state})
		if err != nil {
			t.Fatal(err)
		}
		s, err := newStep(p, "filter", host.OperationOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if out, err := s.Run(t.Context(), nothing, twoRows()); err != nil || len(out) != 1 {
			t.Errorf("%s: items %v, error %v", state, out, err)
		}
	}
}
