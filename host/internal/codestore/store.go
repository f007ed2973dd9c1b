package codestore

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
)

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
	s.Log.Warn("file of the cache refused and removed: its content is made again", "file", path, "reason", why)
}

// Mark begins the mark of a file. label names the place of the file. The caller writes the
// content of the file to the hash, whose sum is the mark.
func (s *Store) Mark(label string) hash.Hash {
	h := hmac.New(sha256.New, s.key)
	fmt.Fprintf(h, "%d %s ", len(label), label)
	return h
}

// Write writes a small file with its mark. Other processes see the whole file or nothing. label
// names the place of the file.
func (s *Store) Write(path, label string, content []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), NewPrefix)
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) // unless it was renamed
	m := s.Mark(label)
	_, _ = m.Write(content)
	_, err = f.WriteString(hex.EncodeToString(m.Sum(nil)) + " " + string(content) + "\n")
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	return err
}

// Read returns the content of a file that Write wrote with the same label. limit bounds the
// size of the file, including the mark, in bytes. The error is fs.ErrNotExist if there is no
// file. Any other error states why the file is not trusted, such as [ErrSeal].
func (s *Store) Read(path, label string, limit int64) ([]byte, error) {
	text, err := readOwn(path, limit)
	if err != nil {
		return nil, err
	}
	sum, content, _ := bytes.Cut(bytes.TrimSuffix(text, []byte("\n")), []byte(" "))
	m := s.Mark(label)
	_, _ = m.Write(content)
	if !hmac.Equal(sum, []byte(hex.EncodeToString(m.Sum(nil)))) {
		return nil, ErrSeal
	}
	return content, nil
}
