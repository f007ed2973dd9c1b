package codestore

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
)

// NewPrefix begins the names of files and folders that are being made. [Prune] ignores them.
const NewPrefix = "new-"

// Store is a folder that nobody but the user can change, with the key for the marks of its
// files. It is safe for concurrent use.
type Store struct {
	// Dir is the path of the folder, absolute and without symbolic links.
	Dir string
	// Log gets a line for each file that was refused, with the reason.
	Log *slog.Logger

	key []byte
}

// Open opens the folder dir, and makes it if it does not exist. The error states who else can
// write to it or to a folder above it, or why it cannot be made.
//
// On Unix the folder must belong to the user of the process. The folders above it must belong
// to that user or to root. None may be writable by others, except for folders above with the
// sticky bit. Open follows symbolic links and applies the same rules to them.
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

// Folder returns the path of a folder in the store, and makes it if it does not exist. It fails
// if the path is no folder of the user's alone.
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

// Refuse removes a file, or whatever is at its path, that cannot be trusted, and logs why.
func (s *Store) Refuse(path string, why error) {
	if err := os.RemoveAll(path); err != nil {
		why = errors.Join(why, err)
	}
	s.Log.Warn("file of the cache refused and removed: what it held is made anew", "file", path, "reason", why)
}
