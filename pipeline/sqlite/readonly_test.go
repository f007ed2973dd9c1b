package sqlite

import (
	"errors"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"

	"github.com/anchor-host/anchor-host/store"
)

// A closed store is read without further files next to it; one that is open elsewhere
// is read through its log.
func TestReadOnly(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store.db")
	fill(t, path, 3)
	check := func(want int) {
		t.Helper()
		s := mustOpen(t, path, Options{ReadOnly: true})
		if recs, err := s.Read(t.Context(), turns, 0, 0); err != nil || len(recs) != want {
			t.Errorf("have %d records, %v, want %d", len(recs), err, want)
		}
		if v, err := s.Schema(t.Context()); err != nil || v != len(migrations) {
			t.Errorf("schema %d, %v", v, err)
		}
		must(t, s.Check(t.Context()))
		for name, write := range map[string]func() error{
			"append":     func() error { _, err := s.Append(t.Context(), turns, longText(9)); return err },
			"put":        func() error { return s.Put(t.Context(), turns, longText(9)) },
			"delete":     func() error { _, err := s.Delete(t.Context(), turns, "#1"); return err },
			"clear":      func() error { _, err := s.Clear(t.Context(), turns); return err },
			"checkpoint": func() error { return s.Checkpoint(t.Context()) },
		} {
			if err := write(); !errors.Is(err, store.ErrReadOnly) || !strings.Contains(err.Error(), path) {
				t.Errorf("%s: %v", name, err)
			}
		}
		must(t, s.Close())
	}
	check(3)
	if beside, err := filepath.Glob(path + "-*"); err != nil || len(beside) > 0 {
		t.Errorf("files beside the store: %v, %v", beside, err)
	}
	writer := mustOpen(t, path, Options{})
	if _, err := writer.Append(t.Context(), turns, longText(4)); err != nil {
		t.Fatal(err)
	}
	check(4)
	must(t, writer.Close())
}

func TestReadOnlyRefuses(t *testing.T) {
	dir := t.TempDir()
	empty, text := filepath.Join(dir, "empty"), filepath.Join(dir, "text")
	write(t, empty, nil)
	write(t, text, []byte(strings.Repeat("not a database ", 100)))
	for path, want := range map[string]error{
		filepath.Join(dir, "none"): fs.ErrNotExist, dir: store.ErrInvalid, empty: store.ErrReadOnly, text: store.ErrCorrupt,
	} {
		if s, err := Open(t.Context(), path, Options{ReadOnly: true}); !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", path, err, want)
			if err == nil {
				must(t, s.Close())
			}
		}
	}
}
