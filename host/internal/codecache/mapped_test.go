package codecache

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/anchor-host/anchor-host/host/internal/codestore"
	"github.com/anchor-host/anchor-host/host/internal/wazerox"
)

// A file of machine code is made where it can be used only, beside the entries, and nobody can write to it in place.
func TestCodeFile(t *testing.T) {
	key, whole, shell := prepared(t, 7)
	p := start(t, t.TempDir())
	defer p.stop(t)
	compiled, err := p.Compile(t.Context(), p.rt, key, whole, shell)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(p.dir, p.nameEntry(key), mappedFile)
	err = p.mapped(p.nameEntry(key), compiled, 0)
	info, missing := os.Stat(path)
	if (err == nil) != (missing == nil) {
		t.Fatalf("mapped: %v; file: %v", err, missing)
	}
	if unable := wazerox.Mappable(p.dir); unable != nil {
		if !errors.Is(missing, fs.ErrNotExist) {
			t.Errorf("a file that cannot be mapped (%v): %v", unable, missing)
		}
		return
	}
	if err != nil || info.Mode().Perm() != 0o400 {
		t.Errorf("mode %v, error %v", info, err)
	}
	for _, e := range []string{p.dir, filepath.Dir(path)} {
		list, err := os.ReadDir(e)
		for _, f := range list {
			if err != nil || strings.HasPrefix(f.Name(), codestore.NewPrefix) {
				t.Errorf("%s is left (%v)", f.Name(), err)
			}
		}
	}
}

// The file of machine code counts to the size of the entries, also that of an entry that was made before.
func TestCodeFileIsBounded(t *testing.T) {
	p := start(t, t.TempDir())
	defer p.stop(t)
	old, entry := filepath.Join(p.dir, "old"), filepath.Join(p.dir, "entry")
	for _, dir := range []string{old, entry} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if f, err := os.Create(filepath.Join(old, "code")); err != nil || f.Truncate(maxSize) != nil || f.Close() != nil {
		t.Fatal(err)
	}
	if past := time.Now().Add(-time.Hour); os.Chtimes(old, past, past) != nil {
		t.Fatal("no times")
	}
	if err := p.writeCode([]byte("code"), filepath.Join(entry, mappedFile)); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(old); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("more than %d bytes are kept (%v)", maxSize, err)
	}
	if _, err := os.Stat(filepath.Join(entry, mappedFile)); err != nil {
		t.Error(err)
	}
}
