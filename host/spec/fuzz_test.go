package spec

import (
	"os"
	"path/filepath"
	"testing"
)

// FuzzRead: a spec or an error, whatever the bytes are.
func FuzzRead(f *testing.F) {
	modules, err := filepath.Glob("../../testdata/wasm/*/plugin.wasm")
	if err != nil || len(modules) == 0 {
		f.Fatal("no fixtures", err)
	}
	for _, m := range modules {
		wasm, err := os.ReadFile(m)
		if err != nil {
			f.Fatal(err)
		}
		side, err := os.ReadFile(filepath.Join(filepath.Dir(m), "plugin.yaml"))
		if err != nil {
			side = nil
		}
		f.Add(wasm, side)
	}
	f.Fuzz(func(t *testing.T, wasm, side []byte) {
		s, err := Read("fuzz", wasm, side)
		if (s == nil) == (err == nil) {
			t.Fatalf("spec %v, error %v", s, err)
		}
		if err != nil && len(err.Error()) == 0 {
			t.Fatal("an error without text")
		}
	})
}
