//go:build unix

package sqlite

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/anchor-host/anchor-host/store"
)

// A file that is made a store belongs to its owner from then on; one that is a store
// keeps the mode that somebody gave it.
func TestModeOfAFileThatIsThere(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store.db")
	write(t, path, nil)
	must(t, os.Chmod(path, 0o644))
	for _, want := range []os.FileMode{0o600, 0o640} {
		must(t, mustOpen(t, path, Options{}).Close())
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != want {
			t.Errorf("mode %v, %v, want %v", info.Mode(), err, want)
		}
		must(t, os.Chmod(path, 0o640))
	}
}

func TestDanglingLink(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "store.db")
	must(t, os.Symlink("elsewhere.db", path))
	_, err := Open(t.Context(), path, Options{})
	oneLine(t, err, store.ErrInvalid, path, "a symbolic link to elsewhere.db, which is not there (make that file, or name another one)")
	write(t, filepath.Join(dir, "elsewhere.db"), nil)
	must(t, mustOpen(t, path, Options{}).Close())
}
