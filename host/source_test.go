package host_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/anchor-host/anchor-host/host"
	"github.com/anchor-host/anchor-host/host/steps"
)

// remembered writes a module and reads it until its file need not be read.
func remembered(t *testing.T, cache, path string, wasm []byte) *host.Spec {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("files are read each time")
	}
	host.SettleFiles(t, 0)
	if err := os.WriteFile(path, wasm, 0o600); err != nil {
		t.Fatal(err)
	}
	reader := host.Reader{CacheDir: cache}
	first, err := reader.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	spec, err := reader.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if host.Unread(first) || !host.Unread(spec) || !host.SameSpec(first, spec) {
		t.Fatalf("%+v, then %+v", first, spec)
	}
	return spec
}

// A module in the place of another is noticed, whatever was done to make its file
// look the same.
func TestReplacedModule(t *testing.T) {
	for name, replace := range map[string]func(path string, wasm []byte) error{
		"written over": func(path string, wasm []byte) error { return os.WriteFile(path, wasm, 0o600) },
		"renamed": func(path string, wasm []byte) error {
			return errors.Join(os.WriteFile(path+".new", wasm, 0o600), os.Rename(path+".new", path))
		},
	} {
		t.Run(name, func(t *testing.T) {
			cache, path := t.TempDir(), filepath.Join(t.TempDir(), "constant.wasm")
			old := remembered(t, cache, path, constant(0))
			info, err := os.Stat(path)
			if err != nil {
				t.Fatal(err)
			}
			time.Sleep(20 * time.Millisecond) // what the clock of a file system may take
			if err := errors.Join(replace(path, constant(1)), os.Chtimes(path, info.ModTime(), info.ModTime())); err != nil {
				t.Fatal(err)
			}
			if spec, err := (host.Reader{CacheDir: cache}).ReadFile(path); err != nil || spec.Digest == old.Digest {
				t.Errorf("error %v, or the digest of the module that was there", err)
			}
			// Who has read it before gets the module that was read, or none.
			h := newHost(t, host.Config{CacheDir: cache})
			if _, err := h.Load(t.Context(), old, host.PluginConfig{}); !errors.Is(err, host.ErrConfig) {
				t.Errorf("load: error %v", err)
			}
			if _, err := old.Anatomy(); !errors.Is(err, host.ErrConfig) {
				t.Errorf("anatomy: error %v", err)
			}
		})
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
	spec := remembered(t, cache, path, wasm)
	for _, state := range []host.State{host.StateReset, host.StateKeep, host.StateFresh} {
		h := newHost(t, host.Config{CacheDir: cache})
		p, err := h.Load(t.Context(), spec, host.PluginConfig{State: state})
		if err != nil {
			t.Fatal(err)
		}
		s, err := steps.New(p, "filter", steps.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if out, err := s.Run(t.Context(), nothing, twoItems()); err != nil || len(out) != 1 {
			t.Errorf("%s: items %v, error %v", state, out, err)
		}
	}
}

// A file that was changed a moment ago may change again without showing it.
func TestFreshFileIsRead(t *testing.T) {
	host.SettleFiles(t, host.Never)
	cache, path := t.TempDir(), filepath.Join(t.TempDir(), "constant.wasm")
	if err := os.WriteFile(path, constant(0), 0o600); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if spec, err := (host.Reader{CacheDir: cache}).ReadFile(path); err != nil || host.Unread(spec) {
			t.Errorf("error %v, or the file was not read", err)
		}
	}
}

// What is kept of a module and is damaged is found out again.
func TestDamagedOutline(t *testing.T) {
	cache, path := t.TempDir(), filepath.Join(t.TempDir(), "constant.wasm")
	want := remembered(t, cache, path, constant(0))
	for _, file := range factsFiles(t, cache) {
		good, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, bad := range [][]byte{nil, good[:len(good)/2], bytes.Replace(good, []byte("1"), []byte("2"), 1)} {
			if err := os.WriteFile(file, bad, 0o600); err != nil {
				t.Fatal(err)
			}
			if got, err := (host.Reader{CacheDir: cache}).ReadFile(path); err != nil || !host.SameSpec(got, want) {
				t.Errorf("%+v, error %v", got, err)
			}
		}
	}
}
