package codestore

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A store in which nothing can be written, as in an image of a container, still has folders for
// processes: among the system's temporary ones. Nobody can make a folder in /sys, not even root.
func TestRunFolderOfAReadOnlyStore(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	s := &Store{Dir: "/sys", Log: slog.New(slog.DiscardHandler)}
	dir, err := s.RunFolder()
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(dir, os.Getenv("TMPDIR")) {
		t.Errorf("the folder is %s", dir)
	}
	if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("%v, %v", info, err)
	}
	s.Dir = filepath.Join(t.TempDir(), "gone")
	if dir, err := s.RunFolder(); err == nil {
		t.Errorf("a store that is gone has the folder %s", dir)
	}
}
