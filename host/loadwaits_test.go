package host

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// What Load waits for besides the guest ends with its context: the vocabulary, the count of a
// folder by another Load, and the look at mounted files.
func TestLoadWaitsNoLongerThanItsContext(t *testing.T) {
	ended, cancel := context.WithCancel(t.Context())
	cancel()

	loading := &tokenizer{loaded: make(chan struct{})}
	loading.once.Do(func() {}) // another one loads it
	if _, err := loading.load(ended); !errors.Is(err, context.Canceled) {
		t.Errorf("vocabulary: error %v", err)
	}
	close(loading.loaded)
	if _, err := loading.load(ended); err != nil {
		t.Errorf("vocabulary that is there: error %v", err)
	}

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
	var all folders
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

	mounts := []mount{{guest: "/docs", root: root}}
	if sum, ok := fingerprint(t.Context(), mounts); !ok || sum == "" {
		t.Errorf("fingerprint %q", sum)
	}
	if _, ok := fingerprint(ended, mounts); ok {
		t.Error("fingerprint: goes on after the end of its context")
	}
}
