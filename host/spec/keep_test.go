package spec

import (
	"bytes"
	"crypto/sha256"
	"os"
	"path/filepath"
	"testing"

	"github.com/anchor-host/anchor-host/host/internal/wasmbin"
)

// What Keep holds is the module that was read, and it is there when the file is gone.
func TestKeepHoldsTheModule(t *testing.T) {
	wasm := bytes.Repeat([]byte("some code of a module "), 10_000)
	s := &source{dir: t.TempDir(), file: "a.wasm", digest: sha256.Sum256(wasm), info: &wasmbin.Info{Size: len(wasm)}}
	path := filepath.Join(s.dir, s.file)
	if err := os.WriteFile(path, wasm, 0o600); err != nil {
		t.Fatal(err)
	}
	kept := &Spec{source: s}
	if err := kept.Keep(); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if got, err := s.bytes(); err != nil || !bytes.Equal(got, wasm) {
		t.Errorf("%d bytes, error %v", len(got), err)
	}
	if n := len(*s.held.Load()); n > len(wasm)/2 {
		t.Errorf("%d of %d bytes are held", n, len(wasm))
	}
}
