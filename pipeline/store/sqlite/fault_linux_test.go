package sqlite

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/anchor-host/anchor-host/pipeline/store"
)

// TestReadOnlyDirectory opens stores where this user may not write.
func TestReadOnlyDirectory(t *testing.T) {
	dir, err := os.MkdirTemp("", "store") //nolint:usetesting // only its owner may enter what TempDir makes
	must(t, err)
	t.Cleanup(func() { must(t, os.RemoveAll(dir)) })
	path, locked := filepath.Join(dir, "store.db"), filepath.Join(dir, "locked.db")
	fill(t, path, 1)
	must(t, os.Chmod(path, 0o666))
	fill(t, locked, 1)
	must(t, os.Chmod(locked, 0o444))
	must(t, os.Chmod(dir, 0o555))
	t.Cleanup(func() { must(t, os.Chmod(dir, 0o755)) })
	for name, path := range map[string]string{
		"the log cannot be made":       path,
		"the file cannot be written":   locked,
		"the file cannot be made":      filepath.Join(dir, "new.db"),
		"the directory cannot be made": filepath.Join(dir, "sub", "new.db"),
	} {
		t.Run(name, func(t *testing.T) {
			asNobody(t)
			_, err := Open(t.Context(), path, Options{})
			oneLine(t, err, store.ErrReadOnly, path, "make the file and its directory writable")
		})
	}
}

// asNobody changes the user of this thread for file access until the test ends, because
// root may access every file.
func asNobody(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		return
	}
	runtime.LockOSThread()
	must(t, syscall.Setfsuid(65534))
	t.Cleanup(func() {
		must(t, syscall.Setfsuid(0))
		runtime.UnlockOSThread()
	})
}

// TestFullDisk fills a small file system.
func TestFullDisk(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=1m"); err != nil {
		t.Skipf("mount a small file system: %v (needs root)", err)
	}
	t.Cleanup(func() { must(t, syscall.Unmount(dir, 0)) })
	path := filepath.Join(dir, "store.db")
	s := mustOpen(t, path, Options{})
	ballast := filepath.Join(dir, "ballast")
	write(t, ballast, make([]byte, 300<<10))
	n := fillUp(t, s, path)
	if recs, err := s.Read(t.Context(), turns, 0, 0); err != nil || len(recs) != n {
		t.Errorf("after the disk was full: have %d records, %v, want %d", len(recs), err, n)
	}
	must(t, os.Remove(ballast))
	if first, err := s.Append(t.Context(), turns, longText(n+1)); err != nil || first != int64(n+1) {
		t.Errorf("append when there is room again: have %d, %v, want %d", first, err, n+1)
	}
	must(t, s.Check(t.Context()))
}

// TestLocksStay opens a file twice in one process. The first store must keep its locks. It
// would lose all of them if other code than SQLite opened and closed the file.
func TestLocksStay(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store.db")
	mustOpen(t, path, Options{})
	before := locks(t, path)
	if before == 0 {
		t.Skip("this kernel does not show locks")
	}
	s, err := Open(t.Context(), path, Options{})
	must(t, err)
	must(t, s.Close())
	if after := locks(t, path); after != before {
		t.Errorf("locks on the file: had %d, have %d", before, after)
	}
}

// locks counts the locks on a file that the kernel knows.
func locks(t *testing.T, path string) int {
	t.Helper()
	info, err := os.Stat(path)
	must(t, err)
	return strings.Count(string(read(t, "/proc/locks")), fmt.Sprintf(":%d ", info.Sys().(*syscall.Stat_t).Ino))
}
