package codestore

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
)

// NewPrefix begins the names of files and folders that are being made. [Prune] leaves them
// alone.
const NewPrefix = "new-"

// Store is a folder that nobody but the user can change, and the key for the marks of what
// lies in it. It is safe for concurrent use.
type Store struct {
	// Dir is the folder: absolute and without symbolic links.
	Dir string
	// Log gets a line for each file that was refused, and why.
	Log *slog.Logger

	key []byte
}

// Open opens the folder dir, and makes it if it is not there. The error says who else can
// write to it or to a folder above it, or why it cannot be made.
//
// On Unix the folder must belong to the user of the process, those above it to that user
// or to root, and none may be writable by others; above, the sticky bit will do. Symbolic
// links are followed and held to the same.
func Open(dir string, log *slog.Logger) (*Store, error) {
	dir, err := ownFolder(dir)
	if err != nil {
		return nil, err
	}
	key, err := openKey(dir)
	if err != nil {
		return nil, err
	}
	return &Store{Dir: dir, Log: log, key: key}, nil
}

// Folder returns the place of a folder in the store, and makes it if it is not there.
func (s *Store) Folder(name string) (string, error) {
	dir := filepath.Join(s.Dir, name)
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return "", err
	}
	info, err := os.Lstat(dir)
	if err == nil && !info.IsDir() {
		err = fmt.Errorf("%s is no folder (remove it)", dir)
	}
	if err == nil {
		err = CheckOwn(dir, info)
	}
	return dir, err
}

// Refuse removes what lies in the place of a file of the store and cannot be trusted, and
// logs why.
func (s *Store) Refuse(path string, why error) {
	if err := os.RemoveAll(path); err != nil {
		why = errors.Join(why, err)
	}
	s.Log.Warn("file of the cache refused and removed: what it held is made anew", "file", path, "reason", why)
}
