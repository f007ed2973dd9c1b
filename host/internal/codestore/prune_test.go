package codestore

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

// Prune removes the entries that were unused for longest. Entries that are being made stay and
// do not count.
func TestPruneRemovesWhatWasUnusedLongest(t *testing.T) {
	dir := t.TempDir()
	now := time.Now()
	for i := range 5 {
		path := filepath.Join(dir, fmt.Sprint(i))
		file := path
		if i%2 == 0 { // entries may be folders
			file = filepath.Join(path, "content")
			if err := os.Mkdir(path, 0o700); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.WriteFile(file, make([]byte, 100), 0o600); err != nil {
			t.Fatal(err)
		}
		used := now.Add(-time.Duration(i*3%5) * time.Minute)
		if err := os.Chtimes(path, used, used); err != nil {
			t.Fatal(err)
		}
	}
	made := filepath.Join(dir, NewPrefix+"entry")
	if err := os.WriteFile(made, make([]byte, 1000), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(made, now.Add(-time.Hour), now.Add(-time.Hour)); err != nil {
		t.Fatal(err)
	}
	Prune(dir, 250)
	left, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || !slices.Equal(left, []string{filepath.Join(dir, "0"), filepath.Join(dir, "2"), made}) {
		t.Errorf("left %v, error %v", left, err)
	}
}
