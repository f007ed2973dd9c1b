package codestore

import (
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// What processes left in the store goes after a day, whatever the folder is called. What lies
// elsewhere, and what is not old, stays.
func TestSweep(t *testing.T) {
	atHome(t)
	base := t.TempDir()
	left := map[string]bool{ // whether it is to stay
		"cache[12]/run-old/file": false, "cache[12]/run-new/file": true, "cache[12]/images/new-old/file": false,
		"cache[12]/images/new-new/file": true, "cache[12]/images/other": true, "cache1/run-old/file": true, "cache1/images/new-old/file": true,
	}
	long := time.Now().Add(-48 * time.Hour)
	for name := range left {
		path := filepath.Join(base, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if folder := filepath.Dir(path); filepath.Base(folder)[3:] == "-old" {
			if err := os.Chtimes(folder, long, long); err != nil {
				t.Fatal(err)
			}
		}
	}
	s, err := Open(filepath.Join(base, "cache[12]"), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	used, err := s.RunFolder()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(used, long, long); err != nil {
		t.Fatal(err)
	}
	Use(used)
	s.Sweep()
	for name, stays := range left {
		if _, err := os.Stat(filepath.Join(base, filepath.FromSlash(name))); (err == nil) != stays {
			t.Errorf("%s: error %v (is to stay: %t)", name, err, stays)
		}
	}
	if _, err := os.Stat(used); err != nil {
		t.Errorf("a folder in use is removed: %v", err)
	}
}
