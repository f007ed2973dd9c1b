package registry

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

const freeSpace = "(free space, or name another folder with --registry-cache)"

// TestFullDisk adds to a cache on a disk that is too small: no half download stays, and what
// fits is pulled afterwards.
func TestFullDisk(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=1m"); err != nil {
		t.Skipf("mount a small file system: %v (needs root)", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, 0); err != nil {
			t.Error(err)
		}
	})
	f := newFake(t)
	large, small := pack(t, "1.0.0", 2<<20), pack(t, "1.0.1", 0)
	hold(f, "large", large)
	hold(f, "small", small)
	c := newClient(t, Options{Cache: &Cache{dir: dir}})
	_, err := c.Pull(t.Context(), f.ref("large"))
	part := c.cache.partPath(large.ModuleDigest)
	if !errors.Is(err, syscall.ENOSPC) || !strings.HasSuffix(err.Error(), freeSpace) || strings.Count(err.Error(), part) != 1 {
		t.Errorf("got %v", err)
	}
	roomy := newClient(t, Options{})
	if _, err := roomy.Pull(t.Context(), f.ref("large")); err != nil {
		t.Fatal(err)
	}
	var archive bytes.Buffer
	if err := roomy.cache.Save(&archive, f.ref("large")); err != nil {
		t.Fatal(err)
	}
	if _, err := c.cache.Load(t.Context(), &archive); !errors.Is(err, syscall.ENOSPC) || !strings.HasSuffix(err.Error(), freeSpace) {
		t.Errorf("load: %v", err)
	}
	if left, err := os.ReadDir(filepath.Dir(part)); err != nil || len(left) != 0 {
		t.Errorf("what is left: %v, %v", left, err)
	}
	if _, err := c.Pull(t.Context(), f.ref("small")); err != nil {
		t.Errorf("what fits: %v", err)
	}
}

func TestWriteError(t *testing.T) {
	for err, want := range map[error]string{
		syscall.ENOSPC: "cache: write /c/x: no space left on device " + freeSpace,
		syscall.EDQUOT: "cache: write /c/x: disk quota exceeded " + freeSpace,
		syscall.EIO:    "cache: write /c/x: input/output error",
	} {
		got := writeError("/c/x", &fs.PathError{Op: "write", Path: "/c/x", Err: err})
		if got.Error() != want || !errors.Is(got, err) {
			t.Errorf("got %v, want %s", got, want)
		}
	}
}
