package codecache

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"github.com/anchor-host/anchor-host/host/internal/wasmbin"
	"github.com/anchor-host/anchor-host/host/internal/wazerox"
)

// Machine code is the pages of a file, which is made again if it is another one.
func TestMappedCode(t *testing.T) {
	const n = 7
	dir := t.TempDir()
	key, whole, shell := prepared(t, n)
	damages := map[string]func(path string) error{
		"missing": os.Remove,
		"short":   func(path string) error { return os.Truncate(path, 1) },
		"empty":   func(path string) error { return os.Truncate(path, 0) },
		"other": func(path string) error {
			n := sizeAt(path)
			return errors.Join(os.Remove(path), os.WriteFile(path, make([]byte, n), 0o600))
		},
		"readable": func(path string) error { return os.Chmod(path, 0o400) },
	}
	path := ""
	run := func(t *testing.T) {
		p := start(t, dir)
		defer p.stop(t)
		compiled, err := p.Compile(t.Context(), p.rt, key, whole, shell)
		if err != nil {
			t.Fatal(err)
		}
		before := bytes.Clone(wazerox.Code(compiled))
		if err := p.mapped(p.nameEntry(key), compiled, 0); err != nil || len(before) == 0 || !bytes.Equal(wazerox.Code(compiled), before) {
			t.Fatalf("%d bytes of code, error %v", len(before), err)
		}
		path = filepath.Join(p.dir, p.nameEntry(key), mappedFile)
		maps, err := os.ReadFile("/proc/self/maps")
		if err != nil || !bytes.Contains(maps, []byte(path+"\n")) {
			t.Errorf("%s is not mapped (%v)", path, err)
		}
		mod, err := p.rt.InstantiateModule(t.Context(), compiled, wazero.NewModuleConfig().WithName(""))
		if err != nil {
			t.Fatal(err)
		}
		defer mod.Close(context.Background())
		mod.ExportedGlobal(wasmbin.FuelExport).(api.MutableGlobal).Set(wasmbin.DefaultSlice)
		if r, err := mod.ExportedFunction("run").Call(t.Context()); err != nil || r[0] != n {
			t.Errorf("it returns %v, error %v", r, err)
		}
	}
	run(t)
	for name, damage := range damages {
		t.Run(name, func(t *testing.T) {
			if err := damage(path); err != nil {
				t.Fatal(err)
			}
			run(t)
		})
	}
}

func sizeAt(path string) int64 {
	info, err := os.Stat(path)
	if err != nil {
		return 0
	}
	return info.Size()
}
