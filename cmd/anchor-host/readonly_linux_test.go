package main

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
)

// What only reads works on a store that this user may not write.
func TestReadingWhatCannotBeWritten(t *testing.T) {
	dir, err := os.MkdirTemp("", "store") //nolint:usetesting // only its owner may enter what TempDir makes
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	t.Chdir(dir)
	t.Setenv("ANCHOR_HOST_STORE_PATH", filepath.Join(dir, "store.db"))
	must(t, "", "memory", "add", "--id", "f1", "Ann is in Oslo")
	for path, mode := range map[string]os.FileMode{"store.db": 0o444, ".": 0o555} {
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() { _ = os.Chmod(dir, 0o755) })
	if os.Geteuid() == 0 { // to whom nothing is forbidden
		runtime.LockOSThread()
		if err := syscall.Setfsuid(65534); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			_ = syscall.Setfsuid(0)
			runtime.UnlockOSThread()
		})
	}
	for _, args := range [][]string{{"memory", "list"}, {"memory", "search", "oslo"}, {"memory", "export"}} {
		if out := must(t, "", args...); !strings.Contains(out, "Ann is in Oslo") {
			t.Errorf("%v: %s", args, out)
		}
	}
	must(t, "", "frames", "list")
	if code, _, stderr := run(t, "", "memory", "add", "another"); code == codeOK || !strings.Contains(stderr, "make the file and its directory writable") {
		t.Errorf("code %d: %s", code, stderr)
	}
	lines, _, _ := doctor(t, "--store", "store.db")
	if f := lines["store"]; f.Status != "warning" || !strings.Contains(f.Detail, "can only be read: ") {
		t.Errorf("%+v", f)
	}
}
