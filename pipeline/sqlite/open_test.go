package sqlite

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

func TestDataDir(t *testing.T) {
	home := func() (string, error) { return "/home/ada", nil }
	abs, err := filepath.Abs("/data")
	must(t, err)
	for _, tt := range []struct {
		name, goos string
		env        map[string]string
		home       func() (string, error)
		want       string
	}{
		{"linux", "linux", nil, home, "/home/ada/.local/share"},
		{"darwin", "darwin", nil, home, "/home/ada/Library/Application Support"},
		{"windows", "windows", map[string]string{"LocalAppData": "/l"}, home, "/l"},
		{"XDG", "linux", map[string]string{"XDG_DATA_HOME": abs}, home, abs},
		{"XDG that is relative", "linux", map[string]string{"XDG_DATA_HOME": "data"}, home, "/home/ada/.local/share"},
		{"windows without a directory", "windows", nil, home, ""},
		{"no home", "linux", nil, func() (string, error) { return "", errors.New("no home") }, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			have, err := dataDir(tt.goos, func(name string) string { return tt.env[name] }, tt.home)
			if filepath.ToSlash(have) != filepath.ToSlash(tt.want) || (err != nil) != (tt.want == "") {
				t.Errorf("have %q, %v, want %q", have, err, tt.want)
			}
		})
	}
}

func TestDefaultPath(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("XDG_DATA_HOME", dir)
	path, err := DefaultPath()
	if want := filepath.Join(dir, "anchor-host", "store.db"); err != nil || path != want {
		t.Errorf("have %q, %v, want %q", path, err, want)
	}
}

func TestFileModes(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no modes there")
	}
	dir := filepath.Join(t.TempDir(), "data")
	path := filepath.Join(dir, "store.db")
	s := mustOpen(t, path, Options{})
	if _, err := s.Append(t.Context(), turns, text("a")); err != nil {
		t.Fatal(err)
	}
	for file, want := range map[string]fs.FileMode{dir: fs.ModeDir | 0o700, path: 0o600, path + "-wal": 0o600, path + "-shm": 0o600} {
		info, err := os.Stat(file)
		must(t, err)
		if info.Mode() != want {
			t.Errorf("%s: have mode %v, want %v", file, info.Mode(), want)
		}
	}
}

// TestSettings reads back the settings that durability depends on, because SQLite ignores
// settings that it does not know.
func TestSettings(t *testing.T) {
	for sync, level := range map[Sync]int64{Full: 2, Normal: 1} {
		s, err := Open(t.Context(), filepath.Join(t.TempDir(), "store.db"), Options{Sync: sync})
		must(t, err)
		must(t, s.writer.close()) // its connection is this test's
		c, err := s.tryOpenWriter()
		must(t, err)
		for pragma, want := range map[string]int64{
			"synchronous": level, "busy_timeout": busySlice.Milliseconds(), "secure_delete": 1, "cell_size_check": 1,
			"trusted_schema": 0, "wal_autocheckpoint": checkpointPages, "journal_size_limit": walKeepBytes,
			"application_id": appID, "user_version": int64(len(migrations)), "mmap_size": 0,
		} {
			if have, _, err := c.number("PRAGMA " + pragma); err != nil || have != want {
				t.Errorf("%s: %s: have %d, %v, want %d", sync, pragma, have, err, want)
			}
		}
		if mode, err := c.text("PRAGMA journal_mode"); err != nil || mode != "wal" {
			t.Errorf("journal mode: have %q, %v", mode, err)
		}
		must(t, c.close())
	}
}

// TestSQLiteVersion keeps out versions that can corrupt a file which two processes
// write to (https://sqlite.org/wal.html#walresetbug).
func TestSQLiteVersion(t *testing.T) {
	s := mustOpen(t, filepath.Join(t.TempDir(), "store.db"), Options{})
	c, err := s.acquire(t.Context())
	must(t, err)
	defer s.release(c, nil)
	version, err := c.text("SELECT sqlite_version()")
	must(t, err)
	var major, minor, patch int
	if _, err := fmt.Sscanf(version, "%d.%d.%d", &major, &minor, &patch); err != nil {
		t.Fatalf("%q: %v", version, err)
	}
	if major*1_000_000+minor*1000+patch < 3_051_003 {
		t.Errorf("SQLite is %s, want 3.51.3 or newer", version)
	}
}
