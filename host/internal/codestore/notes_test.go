package codestore

import (
	"bytes"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

// openNotes opens the notes in a folder.
func openNotes(t *testing.T, dir, version string, settled time.Duration) *Notes {
	t.Helper()
	s, err := Open(dir, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	n, err := OpenNotes(s, version, settled)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// notesIn are the files of the notes in a folder.
func notesIn(t *testing.T, dir string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, notesFolder, "*"))
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// A note is found under its kind, key and version. However its file is damaged, it is not
// found, and can be written again.
func TestNotes(t *testing.T) {
	atHome(t)
	dir := t.TempDir()
	n := openNotes(t, dir, "1", 0)
	key := []byte("key")
	var got string
	if n.Get("kind", key, &got) {
		t.Error("found before it was written")
	}
	n.Put("kind", key, "value")
	files := notesIn(t, dir)
	if len(files) != 1 {
		t.Fatalf("files %v", files)
	}
	good, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	for name, bad := range map[string][]byte{
		"empty": {}, "half": good[:len(good)/2], "longer": append(bytes.Clone(good), 'x'), "large": bytes.Repeat(good, maxNote/len(good)+1),
		"another value": bytes.Replace(good, []byte("value"), []byte("vaLue"), 1), "no mark": good[bytes.IndexByte(good, ' ')+1:],
	} {
		if err := os.WriteFile(files[0], bad, 0o600); err != nil {
			t.Fatal(err)
		}
		if n.Get("kind", key, &got) {
			t.Errorf("%s: found %q", name, got)
		}
		if left := notesIn(t, dir); len(left) != 0 {
			t.Errorf("%s: %v stays", name, left)
		}
		n.Put("kind", key, "value")
		if got = ""; !n.Get("kind", key, &got) || got != "value" {
			t.Errorf("%s: found %q afterwards", name, got)
		}
	}
	for name, other := range map[string]func() bool{
		"kind":    func() bool { return n.Get("other", key, &got) },
		"key":     func() bool { return n.Get("kind", []byte("other"), &got) },
		"version": func() bool { return openNotes(t, dir, "2", 0).Get("kind", key, &got) },
	} {
		if other() {
			t.Errorf("found under another %s", name)
		}
	}
}

// A note in the place of another one is not found there.
func TestNoteInAnotherPlace(t *testing.T) {
	atHome(t)
	dir := t.TempDir()
	n := openNotes(t, dir, "1", 0)
	n.Put("kind", []byte("a"), "of a")
	of := notesIn(t, dir)[0]
	if err := os.Rename(of, n.path("kind", []byte("b"))); err != nil {
		t.Fatal(err)
	}
	var got string
	if n.Get("kind", []byte("b"), &got) || got != "" {
		t.Errorf("found %q", got)
	}
}

// Large values, and those without an encoding, are not kept. Nil notes keep nothing.
func TestNotesThatAreNotKept(t *testing.T) {
	atHome(t)
	dir := t.TempDir()
	n := openNotes(t, dir, "1", 0)
	n.Put("kind", []byte("a"), strings.Repeat("x", maxNote/2))
	n.Put("kind", []byte("b"), func() {})
	if left := notesIn(t, dir); len(left) != 0 {
		t.Errorf("kept: %v", left)
	}
	n = nil
	n.Put("kind", []byte("a"), "value")
	if got := ""; n.Get("kind", []byte("a"), &got) {
		t.Errorf("found %q", got)
	}
}

// waitForTick waits until the clock of the file system in dir shows another time, so that the
// next change of a file there shows in its times.
func waitForTick(t *testing.T, dir string) {
	t.Helper()
	var first time.Time
	for {
		f, err := os.CreateTemp(dir, "tick-*")
		if err != nil {
			t.Fatal(err)
		}
		info, err := f.Stat()
		if err := errors.Join(err, f.Close(), os.Remove(f.Name())); err != nil {
			t.Fatal(err)
		}
		if first.IsZero() {
			first = info.ModTime()
		}
		if info.ModTime().After(first) {
			return
		}
		time.Sleep(time.Millisecond)
	}
}

// The key of a file changes with its content. A file that changed just now has none.
func TestFileKey(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("there are no stamps here")
	}
	atHome(t)
	n := openNotes(t, t.TempDir(), "1", time.Nanosecond)
	path := filepath.Join(t.TempDir(), "file")
	past := time.Now().Add(-time.Hour)
	key := func(text string) []byte {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, past, past); err != nil {
			t.Fatal(err)
		}
		waitForTick(t, filepath.Dir(path))
		f, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if hour := (&Notes{settled: time.Hour}); hour.FileKey(f) != nil || (*Notes)(nil).FileKey(f) != nil {
			t.Error("a key of a file that changed just now, or without notes")
		}
		return n.FileKey(f)
	}
	one, other := key("one"), key("two")
	if one == nil || other == nil || bytes.Equal(one, other) {
		t.Errorf("keys %q and %q", one, other)
	}
}
