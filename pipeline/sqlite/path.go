package sqlite

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"

	"github.com/anchor-host/anchor-host/store"
)

// DefaultPath returns the path of a user's store: anchor-host/store.db in the user's data
// directory. That directory is $XDG_DATA_HOME or, by platform, ~/.local/share,
// ~/Library/Application Support or %LocalAppData%. DefaultPath creates nothing.
func DefaultPath() (string, error) {
	dir, err := dataDir(runtime.GOOS, os.Getenv, os.UserHomeDir)
	if err != nil {
		return "", fmt.Errorf("default store path: %w", err)
	}
	return filepath.Join(dir, "anchor-host", "store.db"), nil
}

func dataDir(goos string, getenv func(string) string, home func() (string, error)) (string, error) {
	// The XDG base directory specification requires that relative paths are ignored.
	if dir := getenv("XDG_DATA_HOME"); filepath.IsAbs(dir) {
		return dir, nil
	}
	if goos == "windows" {
		if dir := getenv("LocalAppData"); dir != "" {
			return dir, nil
		}
		return "", errors.New("%LocalAppData% is not set")
	}
	dir, err := home()
	if err != nil {
		return "", err
	}
	if goos == "darwin" || goos == "ios" {
		return filepath.Join(dir, "Library", "Application Support"), nil
	}
	return filepath.Join(dir, ".local", "share"), nil
}

// creating ensures that only one Open at a time creates a file. Closing a file removes all
// locks that this process has on it, including those of SQLite. For the same reason nothing
// here ever opens an existing file.
var creating sync.Mutex

// createFile makes sure that the file exists, and that only its owner can access a new or
// empty one. SQLite gives the files next to it the same mode.
func createFile(path string) error {
	creating.Lock()
	defer creating.Unlock()
	info, err := os.Stat(path)
	switch {
	case err == nil:
		return claimFile(path, info)
	case !errors.Is(err, fs.ErrNotExist):
		return fileError(err)
	}
	if target, err := os.Readlink(path); err == nil {
		return fmt.Errorf("%w: a symbolic link to %s, which is not there (make that file, or name another one)", store.ErrInvalid, target)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fileError(err)
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return nil // another process was faster
	}
	if err != nil {
		return fileError(err)
	}
	if err := f.Close(); err != nil {
		return fileError(err)
	}
	return syncDir(filepath.Dir(path))
}

// claimFile checks an existing file. An empty file is about to become a store: if it belongs
// to the user who opens it, nobody else can access it from now on.
func claimFile(path string, info fs.FileInfo) error {
	if !info.Mode().IsRegular() {
		return fmt.Errorf("%w: not a regular file (name a file)", store.ErrInvalid)
	}
	if info.Size() > 0 || info.Mode().Perm()&0o077 == 0 {
		return nil
	}
	if err := os.Chmod(path, 0o600); err != nil && !errors.Is(err, fs.ErrPermission) {
		return fileError(err)
	}
	return nil
}

// syncDir makes the name of a new file durable.
func syncDir(dir string) error {
	if runtime.GOOS == "windows" {
		return nil // directories cannot be synced there
	}
	d, err := os.Open(dir)
	if err != nil {
		return fileError(err)
	}
	err = cmp.Or(d.Sync(), d.Close())
	if err != nil {
		return fileError(err)
	}
	return nil
}

// fileURI returns the path as a URI for SQLite, with the characters escaped that have a
// meaning in a URI.
func fileURI(path string) string {
	path = filepath.ToSlash(path)
	if !strings.HasPrefix(path, "/") {
		path = "/" + path // C:/x is /C:/x
	}
	return (&url.URL{Scheme: "file", Path: path}).String()
}
