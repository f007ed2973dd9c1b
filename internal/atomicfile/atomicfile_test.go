package atomicfile

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

func TestReplaceKeepsTheMode(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	if err := Write(path, 0o640, []byte("one")); err != nil {
		t.Fatal(err)
	}
	wantFile(t, path, "one", 0o640)
	if err := os.Chmod(path, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := Write(path, 0o644, []byte("two")); err != nil {
		t.Fatal(err)
	}
	wantFile(t, path, "two", 0o600)
}

func TestFailedReplaceChangesNothing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	if err := Write(path, 0o644, []byte("before")); err != nil {
		t.Fatal(err)
	}
	broken := errors.New("broken")
	err := Replace(path, 0o644, func(w io.Writer) error {
		_, _ = io.WriteString(w, "half")
		return broken
	})
	if !errors.Is(err, broken) {
		t.Errorf("Replace returned %v, want the error of the writer", err)
	}
	wantFile(t, path, "before", 0o644)
	if folder := filepath.Join(path, "below"); Write(folder, 0o644, nil) == nil {
		t.Errorf("Write to %s, below a file, succeeded", folder)
	}
}

func TestReplaceOfAFolder(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "folder")
	if err := os.MkdirAll(filepath.Join(path, "full"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := Write(path, 0o644, []byte("text")); err == nil {
		t.Error("Write replaced a folder")
	}
	wantAlone(t, dir, "folder")
}

func TestCreate(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	if err := Create(path, 0o644, []byte("first")); err != nil {
		t.Fatal(err)
	}
	if err := Create(path, 0o644, []byte("second")); !errors.Is(err, fs.ErrExist) {
		t.Errorf("the second Create returned %v, want fs.ErrExist", err)
	}
	wantFile(t, path, "first", 0o644)
}

// wantFile also fails if there is another file beside it, such as a temporary one.
func wantFile(t *testing.T, path, text string, mode fs.FileMode) {
	t.Helper()
	got, err := os.ReadFile(path)
	if err != nil || string(got) != text {
		t.Errorf("the file has %q (%v), want %q", got, err, text)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != mode && os.PathSeparator == '/' {
		t.Errorf("the file is %v (%v), want mode %v", info, err, mode)
	}
	wantAlone(t, filepath.Dir(path), filepath.Base(path))
}

func wantAlone(t *testing.T, dir, name string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 || entries[0].Name() != name {
		t.Errorf("the folder has %v (%v), want %s alone", entries, err, name)
	}
}
