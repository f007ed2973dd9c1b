package authoring

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

func TestChangedFiles(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	scan := func() Files {
		t.Helper()
		files, err := Scan(dir)
		if err != nil {
			t.Fatal(err)
		}
		return files
	}
	write("plugin.c", "a")
	write("tests/own.json", "[]")
	first := scan()
	for _, name := range []string{"build/x.wasm", "target/release/x", "node_modules/y/z.js", ".git/HEAD", ".zig-cache/o", "Cargo.lock", ".plugin.c.swp", "plugin.c~", "4913", "README.md", "notes.log", "#plugin.c#", "lib/__pycache__/x.pyc"} {
		write(name, "made")
	}
	if changed := scan().Changed(first); changed != nil {
		t.Errorf("what a build writes counts as a change: %v", changed)
	}
	write("plugin.c", "ab")
	write("naïve name.c", "new")
	if err := os.Remove(filepath.Join(dir, "tests/own.json")); err != nil {
		t.Fatal(err)
	}
	if changed := scan().Changed(first); !slices.Equal(changed, []string{"naïve name.c", "plugin.c", "tests/own.json"}) {
		t.Error(changed)
	}
	same := scan()
	later := time.Now().Add(time.Second)
	if err := os.Chtimes(filepath.Join(dir, "plugin.c"), later, later); err != nil {
		t.Fatal(err)
	}
	if changed := scan().Changed(same); !slices.Equal(changed, []string{"plugin.c"}) {
		t.Error("a saved file is a change, whatever its size:", changed)
	}
	if _, err := Scan(filepath.Join(dir, "none")); err == nil {
		t.Error("a missing folder is accepted")
	}
}
