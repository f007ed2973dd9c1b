//go:build unix

package keys

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

func TestModes(t *testing.T) {
	for mode, fine := range map[os.FileMode]bool{0o600: true, 0o400: true, 0o640: true, 0o440: true, 0o644: false, 0o660: false, 0o602: false, 0o604: false} {
		path, _ := keyed(t, "keys.yaml")
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		if _, err := Read(path); fine != (err == nil) || (err != nil && !errors.Is(err, ErrInvalid) && !errors.Is(err, os.ErrPermission)) {
			t.Errorf("%04o: %v", mode, err)
		}
	}
}

// An edit keeps the mode, and a link stays one.
func TestEditKeepsModeAndLink(t *testing.T) {
	path, _ := keyed(t, "keys.yaml")
	if err := os.Chmod(path, 0o640); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(t.TempDir(), "link.yaml")
	if err := os.Symlink(path, link); err != nil {
		t.Fatal(err)
	}
	if err := Edit(t.Context(), link, func(f *File) error { f.Keys = nil; return nil }); err != nil {
		t.Fatal(err)
	}
	info, err := os.Lstat(link)
	if err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the link: %v, %v", info.Mode(), err)
	}
	f, err := Read(path)
	if err != nil || len(f.Keys) != 0 {
		t.Errorf("%v, %v", f, err)
	}
	if info, _ := os.Stat(path); info.Mode().Perm() != 0o640 {
		t.Errorf("mode %v", info.Mode())
	}
}
