package codecache

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/tetratelabs/wazero"
)

// inFiles has the compilations of a process first change the folders in which wazero reads
// and writes, all of them if at is negative, otherwise the one of that number.
func inFiles(dir string, at int, change func(folder string)) func(*Options) {
	n := -1 // Open compiles the probe
	return func(o *Options) {
		compile := o.Compile
		o.Compile = func(ctx context.Context, rt wazero.Runtime, wasm []byte) (wazero.CompiledModule, error) {
			folders, _ := filepath.Glob(filepath.Join(dir, "run-*", "wazero-*"))
			for _, folder := range folders {
				if n >= 0 && (at < 0 || at == n) {
					change(folder)
				}
			}
			n++
			return compile(ctx, rt, wasm)
		}
	}
}

// unwritable has wazero fail to write files there.
func unwritable(folder string) { _ = os.RemoveAll(folder) }

// If files cannot be written, as on a full disk, modules run all the same. Once files can be
// written again, entries are made again.
func TestFailingWrites(t *testing.T) {
	for at := range 8 {
		t.Run(fmt.Sprint("compilation ", at), func(t *testing.T) {
			dir := t.TempDir()
			p := start(t, dir, inFiles(dir, at, unwritable))
			defer p.stop(t)
			for n := range byte(3) {
				p.run(t, n)
			}
			p.run(t, 7)
			if !p.run(t, 7) {
				t.Error("modules are not kept any more")
			}
			runAll(t, dir)
			if found := runAll(t, dir); found != 3 {
				t.Errorf("a later process finds %d modules (want 3)", found)
			}
		})
	}
	t.Run("all", func(t *testing.T) {
		dir := t.TempDir()
		full := true
		p := start(t, dir, inFiles(dir, -1, func(folder string) {
			if full {
				unwritable(folder)
			}
		}))
		defer p.stop(t)
		for n := range byte(3) {
			for range 2 {
				if p.run(t, n) {
					t.Errorf("module %d is found", n)
				}
			}
		}
		full = false
		p.run(t, 7)
		if !p.run(t, 7) {
			t.Error("modules are not kept any more")
		}
	})
}

// If wazero did not take the code under the name of a shell, that would be found out once,
// and modules would be compiled.
func TestRefutedShells(t *testing.T) {
	dir := t.TempDir()
	refuted := 0
	ignore := inFiles(dir, -1, func(folder string) { // wazero finds no code
		files, _ := filepath.Glob(filepath.Join(folder, "*"))
		for _, f := range files {
			_ = os.Remove(f)
		}
	})
	found := runAll(t, dir, ignore, func(o *Options) { o.Refuted = func() { refuted++ } })
	if found != 0 || refuted != 1 || len(filesOf(t, dir)) != 0 {
		t.Errorf("%d modules found, refuted %d times, files %v", found, refuted, filesOf(t, dir))
	}
}

// A module that wazero refuses is compiled once, and the error is that of wazero.
func TestRefusedModule(t *testing.T) {
	compiled := 0
	p := start(t, t.TempDir(), func(o *Options) {
		compile := o.Compile
		o.Compile = func(ctx context.Context, rt wazero.Runtime, wasm []byte) (wazero.CompiledModule, error) {
			compiled++
			return compile(ctx, rt, wasm)
		}
	})
	defer p.stop(t)
	bad := constant(0)
	bad[len(bad)-3] = 0x42 // an i64 in the place of an i32
	_, want := p.rt.CompileModule(t.Context(), bad)
	compiled = 0
	_, err := p.Compile(t.Context(), p.rt, Key{1}, bad, nil)
	if err == nil || want == nil || err.Error() != want.Error() || compiled != 1 {
		t.Errorf("error %v after %d compilations (want %v)", err, compiled, want)
	}
}
