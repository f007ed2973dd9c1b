package plugincmd

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/anchor-host/anchor-host/internal/authoring"
)

// The error of a round is not printed if a file changed meanwhile, unless that goes on and on.
func TestOutdated(t *testing.T) {
	dir := t.TempDir()
	d := &developer{flags: &devFlags{build: authoring.BuildOptions{Dir: dir}}}
	begin := func() {
		t.Helper()
		var err error
		if d.files, err = authoring.Scan(dir); err != nil {
			t.Fatal(err)
		}
	}
	grow := func() {
		t.Helper()
		f, err := os.OpenFile(filepath.Join(dir, "plugin.c"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.WriteString("x"); err != nil {
			t.Fatal(err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if begin(); d.outdated() {
		t.Error("nothing changed")
	}
	for range 2 {
		for i, want := range []bool{true, true, true, false} {
			begin()
			if grow(); d.outdated() != want {
				t.Errorf("change %d: want %t", i, want)
			}
		}
	}
	begin()
	d.flags.once = true
	if grow(); d.outdated() {
		t.Error("there is no other round with --once")
	}
	d.flags.once, d.flags.build.Dir = false, filepath.Join(dir, "gone")
	if d.outdated() {
		t.Error("there is no folder")
	}
}
