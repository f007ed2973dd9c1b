package codestore

import (
	"bytes"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// atHome makes an empty folder the user's home for the test, and returns it.
func atHome(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"XDG_CONFIG_HOME", "HOME", "AppData"} {
		t.Setenv(name, dir)
	}
	return dir
}

// Processes that start at the same time agree on one key.
func TestOneKey(t *testing.T) {
	atHome(t)
	dir := t.TempDir()
	var wg sync.WaitGroup
	keys := make([][]byte, 16)
	for i := range keys {
		wg.Go(func() {
			s, err := Open(dir, nil)
			if err != nil {
				t.Error(err)
				return
			}
			keys[i] = s.key
		})
	}
	wg.Wait()
	for _, k := range keys {
		if len(k) != keySize || !bytes.Equal(k, keys[0]) || bytes.Equal(k, make([]byte, keySize)) {
			t.Errorf("key %x, another is %x", k, keys[0])
		}
	}
}

// A file is refused unless it was written in this place with the key.
func TestMarks(t *testing.T) {
	atHome(t)
	s, err := Open(t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	path, content := filepath.Join(s.Dir, "a"), []byte("what is kept\n\x00")
	if err := s.Write(path, "note a", content); err != nil {
		t.Fatal(err)
	}
	if list, err := os.ReadDir(s.Dir); err != nil || len(list) != 1 {
		t.Errorf("%v, error %v (want one file)", list, err)
	}
	if got, err := s.Read(path, "note a", 1<<10); err != nil || !bytes.Equal(got, content) {
		t.Errorf("read %q, error %v", got, err)
	}
	if got, err := s.Read(path, "note b", 1<<10); !errors.Is(err, ErrSeal) || got != nil {
		t.Errorf("of another place: %q, error %v", got, err)
	}
	if got, err := s.Read(path, "note a", 10); err == nil || got != nil || !strings.Contains(err.Error(), "larger than 10 bytes") {
		t.Errorf("too large: %q, error %v", got, err)
	}
	if _, err := s.Read(path+"-none", "note a", 1<<10); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("none: error %v", err)
	}
	atHome(t) // another user
	other, err := Open(t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := other.Read(path, "note a", 1<<10); !errors.Is(err, ErrSeal) || got != nil {
		t.Errorf("by another user: %q, error %v", got, err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for i := range text[:len(text)-1] { // the last byte ends the line
		damaged := bytes.Clone(text)
		damaged[i] ^= 1
		if err := os.WriteFile(path, damaged, 0o600); err != nil {
			t.Fatal(err)
		}
		if got, err := s.Read(path, "note a", 1<<10); !errors.Is(err, ErrSeal) || got != nil {
			t.Errorf("byte %d: %q, error %v", i, got, err)
		}
	}
}

// Refuse removes files, folders and anything else, and names them in the log.
func TestRefuse(t *testing.T) {
	atHome(t)
	var log bytes.Buffer
	s, err := Open(t.TempDir(), slog.New(slog.NewTextHandler(&log, nil)))
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(s.Dir, "entry")
	if err := os.MkdirAll(filepath.Join(path, "below"), 0o700); err != nil {
		t.Fatal(err)
	}
	s.Refuse(path, ErrSeal)
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("error %v", err)
	}
	if !strings.Contains(log.String(), "without the key of this user") || !strings.Contains(log.String(), "entry") {
		t.Errorf("log:\n%s", &log)
	}
}
