package mounts

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// Counting what is in a folder, and looking at its files, ends with the context.
func TestWaitsNoLongerThanItsContext(t *testing.T) {
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	dir := t.TempDir()
	for _, name := range []string{"b", "a"} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		old := time.Now().Add(-time.Hour)
		if err := errors.Join(os.Chtimes(path, old, old), os.Chtimes(dir, old, old)); err != nil {
			t.Fatal(err)
		}
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	info, err := root.Stat(".")
	if err != nil {
		t.Fatal(err)
	}
	var all Folders
	d := all.find(info)
	d.counting <- struct{}{} // another one counts
	d.mu.Lock()
	if _, err := all.enter(ended, root, info, 10); !errors.Is(err, context.Canceled) {
		t.Errorf("folder: error %v", err)
	}
	d.mu.Unlock()
	<-d.counting
	if d, err := all.enter(t.Context(), root, info, 10); err != nil || d.files != 2 {
		t.Errorf("folder: %d files, error %v", d.files, err)
	}
}
