package spec_test

import (
	"bytes"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/anchor-host/anchor-host/host/spec"
)

// factsFiles are the files in which a cache keeps what the code of modules says.
func factsFiles(t *testing.T, dir string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "facts", "*"))
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// readKept reads a fixture with a cache, and checks that it is what it is without.
func readKept(t *testing.T, dir, name string) {
	t.Helper()
	path := filepath.Join(fixtures, name, "plugin.wasm")
	want, err := spec.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	got, err := spec.Reader{CacheDir: dir}.ReadFile(path)
	if err != nil {
		t.Error(err)
	} else if !spec.SameSpec(got, want) {
		t.Errorf("%s: %+v, want %+v", name, got, want)
	}
}

func TestReaderRemembers(t *testing.T) {
	settleFiles(t, never) // what files hold is read each time
	dir := t.TempDir()
	readKept(t, dir, "keep-first")
	files := factsFiles(t, dir)
	if len(files) != 1 {
		t.Fatalf("%d files", len(files))
	}
	good, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	readKept(t, dir, "keep-first")
	if err := os.WriteFile(files[0], good[:len(good)/2], 0o600); err != nil {
		t.Fatal(err)
	}
	readKept(t, dir, "keep-first")
	if now, err := os.ReadFile(files[0]); err != nil || !bytes.Equal(now, good) {
		t.Errorf("kept are %q, error %v", now, err)
	}
}

func TestReaderWithoutCache(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	sealed := t.TempDir()
	if err := os.Chmod(sealed, 0o500); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"off", file, sealed} {
		readKept(t, dir, "keep-first")
		readKept(t, dir, "keep-first")
	}
}

func TestReadersAtOnce(t *testing.T) {
	dir := t.TempDir()
	want, err := spec.ReadDir(fixtures)
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 3 {
				got, err := spec.Reader{CacheDir: dir}.ReadDir(fixtures)
				if err != nil || len(got) != len(want) {
					t.Errorf("%d entries, error %v", len(got), err)
					return
				}
				for i, e := range got {
					if e.Name != want[i].Name || (e.Err == nil) != (want[i].Err == nil) || e.Err != nil && e.Err.Error() != want[i].Err.Error() {
						t.Errorf("%s: error %v, want %s: %v", e.Name, e.Err, want[i].Name, want[i].Err)
					}
				}
			}
		})
		wg.Go(func() {
			for _, f := range factsFiles(t, dir) {
				_ = os.WriteFile(f, []byte("half"), 0o600)
			}
		})
	}
	wg.Wait()
}
