package ingest_test

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/anchor-host/anchor-host/pipeline/ingest"
)

// TestStrangeFiles holds that nothing that can lie in a folder blocks a run, fills the memory, or
// keeps it from reading the other files.
func TestStrangeFiles(t *testing.T) {
	f := newFixture(t)
	f.write("good.txt", "good")
	f.write("latin-\xe9.txt", "x")
	f.write("folder-\xe9/a.txt", "x")
	f.write("deep.html", strings.Repeat("<div><b>", 50<<20/8)+"end")
	sparse := filepath.Join(f.dir, "two-gb.pdf")
	f.write("two-gb.pdf", "%PDF-1.7\n")
	in := func(name string) string { return filepath.Join(f.dir, name) }
	err := errors.Join(os.Truncate(sparse, 2<<30), syscall.Mkfifo(in("pipe.md"), 0o600),
		os.Mkdir(in("loop"), 0o700), os.Symlink("..", in("loop/up")), os.Symlink("self", in("self")))
	if err != nil {
		t.Fatal(err)
	}
	r := f.run(".")
	f.want(r, 0, 1, 0, 4, 0)
	if r.Skipped != 3 || f.names() != "good.txt" {
		t.Errorf("%d skipped, documents: %s", r.Skipped, f.names())
	}
	f.wantFails("two-gb.pdf: too large", "deep.html: too large", "latin-\xe9.txt: its name is not UTF-8", "folder-\xe9: its name is not UTF-8")
}

// TestNamedStrangeFiles is the same for what the user names.
func TestNamedStrangeFiles(t *testing.T) {
	f := newFixture(t)
	if err := errors.Join(syscall.Mkfifo(filepath.Join(f.dir, "pipe.md"), 0o600), os.Symlink("self", filepath.Join(f.dir, "self"))); err != nil {
		t.Fatal(err)
	}
	f.want(f.run("pipe.md", "self", "no\xe9"), 0, 0, 0, 3, 0)
	f.wantFails("pipe.md: not a regular file", "self: too many levels", "no\xe9: no such file")
	r, err := ingest.Run(t.Context(), f.index, []ingest.Source{{Path: "/dev/zero"}}, f.o)
	if err != nil || r.Failed != 1 {
		t.Errorf("/dev/zero: %+v, error %v", r, err)
	}
}

func TestForbidden(t *testing.T) {
	f := newFixture(t)
	f.write("a/good.txt", "good")
	f.write("a/secret.txt", "secret")
	f.write("a/closed/b.txt", "below")
	f.run("a")
	f.write("a/secret.txt", "another secret")
	if err := errors.Join(os.Chmod(filepath.Join(f.dir, "a/secret.txt"), 0), os.Chmod(filepath.Join(f.dir, "a/closed"), 0)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Chmod(filepath.Join(f.dir, "a/closed"), 0o700) })
	if os.Geteuid() == 0 { // to whom nothing is forbidden
		if err := errors.Join(os.Chmod(f.dir, 0o755), os.Chmod(filepath.Dir(f.dir), 0o755), os.Chmod(filepath.Join(f.dir, "a"), 0o755), os.Chmod(filepath.Join(f.dir, "a/good.txt"), 0o644)); err != nil {
			t.Fatal(err)
		}
		runtime.LockOSThread()
		if err := syscall.Setfsuid(65534); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			_ = syscall.Setfsuid(0)
			runtime.UnlockOSThread()
		})
	}
	f.want(f.run("a"), 1, 0, 0, 2, 0)
	f.wantFails("secret.txt: permission denied (allow reading it", "closed: permission denied (allow reading it")
	if !f.finds("secret") || !f.finds("below") {
		t.Error("files that cannot be read lost their documents")
	}
}
