package spec_test

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/host/internal/wasmbin"
	"github.com/anchor-host/anchor-host/host/spec"
)

// heap is what the process holds.
func heap() int64 {
	runtime.GC()
	runtime.GC() // pools
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// A custom section that nobody reads is not held, nor read into memory again.
func TestCustomSectionsAreNotHeld(t *testing.T) {
	const size = 24 << 20
	wasm := withSection(t, constant(0), "big", make([]byte, size))
	path, cache := filepath.Join(t.TempDir(), "constant.wasm"), t.TempDir()
	if err := os.WriteFile(path, wasm, 0o600); err != nil {
		t.Fatal(err)
	}
	wasm = nil //nolint:ineffassign // the heap that is measured is without it
	for name, dir := range map[string]string{"no cache": "off", "a cache": cache, "the same cache": cache} {
		before := heap()
		s, err := spec.Reader{CacheDir: dir}.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if held := heap() - before; held > size/8 {
			t.Errorf("%s: %d bytes are held of a section of %d", name, held, size)
		}
		module, err := s.Module().Bytes()
		if err != nil || len(module) > size/8 {
			t.Errorf("%s: a module of %d bytes is compiled, error %v", name, len(module), err)
		}
		if all := s.Anatomy().Sections; all[len(all)-1] != (spec.CustomSection{Name: "big", Size: size}) {
			t.Errorf("%s: sections %v", name, all)
		}
		runtime.KeepAlive(s)
	}
}

// A manifest that is too large is refused without being copied or kept.
func TestLargeManifestIsNotKept(t *testing.T) {
	const size = 24 << 20
	path, reader := filepath.Join(t.TempDir(), "add-item.wasm"), spec.Reader{CacheDir: t.TempDir()}
	if err := os.WriteFile(path, withSection(t, readFixture(t, "add-item"), abi.ManifestSection, make([]byte, size)), 0o600); err != nil {
		t.Fatal(err)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := reader.ReadFile(path)
	runtime.ReadMemStats(&after)
	if took := after.TotalAlloc - before.TotalAlloc; !errors.Is(err, spec.ErrManifest) || took > size*3/2 {
		t.Errorf("%d bytes are allocated for a file of %d, error %v", took, size, err)
	}
}

func withSection(t *testing.T, wasm []byte, name string, content []byte) []byte {
	t.Helper()
	out, err := wasmbin.AppendCustom(wasm, name, content)
	if err != nil {
		t.Fatal(err)
	}
	return out
}
