package host_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/anchor-host/anchor-host/host"
	"github.com/anchor-host/anchor-host/host/spec"
)

// constant is a foreign module whose function run is successful when n is 0. Such
// modules differ in one byte of their code.
func constant(n byte) []byte {
	return append([]byte("\x00asm\x01\x00\x00\x00"+
		"\x01\x05\x01\x60\x00\x01\x7f"+
		"\x03\x02\x01\x00"+
		"\x05\x03\x01\x00\x01"+
		"\x07\x10\x02\x06memory\x02\x00\x03run\x00\x00"+
		"\x0a\x06\x01\x04\x00\x41"), n, 0x0b)
}

// runs loads modules that differ in their code alone into one host, and checks that
// each runs its own.
func runs(t *testing.T, dir string) {
	t.Helper()
	ctx := context.Background()
	h, err := host.New(host.Config{CacheDir: dir, Portable: portable()})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close(ctx)
	for n := range byte(3) {
		spec, err := spec.Read("constant", constant(n), nil)
		if err != nil {
			t.Fatal(err)
		}
		p, err := h.Load(ctx, spec, host.PluginConfig{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := p.Call(ctx, "run", nil); (err == nil) != (n == 0) {
			t.Errorf("module %d: error %v", n, err)
		}
	}
}

func TestModulesThatDifferInCode(t *testing.T) {
	dir := t.TempDir()
	runs(t, dir) // made
	want := contents(t, dir)
	runs(t, dir) // found
	if got := contents(t, dir); len(got) != len(want) {
		t.Errorf("%d files in the cache, then %d", len(want), len(got))
	}
}

// Entries that lie in each other's place are not taken for what they are not.
func TestEntriesOfOtherModules(t *testing.T) {
	dir := t.TempDir()
	runs(t, dir)
	entries, err := filepath.Glob(filepath.Join(dir, "wazero-*", "*"))
	if err != nil {
		t.Fatal(err)
	}
	if len(entries) == 0 {
		t.Skip("this platform does not compile")
	}
	aside := filepath.Join(t.TempDir(), "aside")
	for i := 1; i < len(entries); i++ {
		for _, move := range [][2]string{{entries[0], aside}, {entries[i], entries[0]}, {aside, entries[i]}} {
			if err := os.Rename(move[0], move[1]); err != nil {
				t.Fatal(err)
			}
		}
		runs(t, dir)
	}
}

// The code of an entry is what runs: a module is not compiled again.
func TestEntryIsUsed(t *testing.T) {
	dir := t.TempDir()
	if err := cached(t, dir); err != nil {
		t.Fatal(err)
	}
	entries, err := filepath.Glob(filepath.Join(dir, "wazero-*", "*"))
	if err != nil {
		t.Fatal(err)
	}
	if len(entries) == 0 {
		t.Skip("this platform does not compile")
	}
	before := map[string]os.FileInfo{}
	for _, f := range cacheFiles(t, dir) {
		if before[f], err = os.Stat(f); err != nil {
			t.Fatal(err)
		}
	}
	if err := cached(t, dir); err != nil {
		t.Fatal(err)
	}
	for f, old := range before {
		if now, err := os.Stat(f); err != nil || !os.SameFile(old, now) {
			t.Errorf("%s: error %v, or it was made again", f, err)
		}
	}
}
