package codestore

import (
	"bytes"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io/fs"
	"os"
	"path/filepath"
)

// A mark is an HMAC-SHA-256 under a key that only the user can read: it tells what this
// user's processes wrote from what others wrote, and from what got damaged or lies in the
// place of another file.

// keySize is the size of the key, in bytes.
const keySize = 32

const (
	// keyFolder and keyFile are where the key is, below the user's folder of
	// configuration: who gets hold of a copy of the store has no key with it.
	keyFolder, keyFile = "anchor-host", "cache.key"
	// ownKeyFile is its name in the store, where there is no such folder.
	ownKeyFile = "key"
)

// ErrSeal marks a file that does not bear the mark.
var ErrSeal = errors.New("damaged, or written by somebody without the key of this user")

// openKey takes the key from the user's folder of configuration, or, where there is none
// that is the user's alone, from the store. It is made if it is not there.
func openKey(store string) ([]byte, error) {
	if dir, err := os.UserConfigDir(); err == nil {
		if dir, err = ownFolder(filepath.Join(dir, keyFolder)); err == nil {
			if key, err := keyOf(filepath.Join(dir, keyFile)); err == nil {
				return key, nil
			}
		}
	}
	return keyOf(filepath.Join(store, ownKeyFile))
}

// keyOf reads a key, or makes one.
func keyOf(path string) ([]byte, error) {
	key, err := readKey(path)
	if errors.Is(err, fs.ErrNotExist) {
		if err = makeKey(path); err == nil {
			key, err = readKey(path) // that of another process, if it was faster
		}
	}
	if err != nil {
		return nil, fmt.Errorf("key: %w (remove it, and another is made)", err)
	}
	return key, nil
}

// readKey reads a key that nobody else can read.
func readKey(path string) ([]byte, error) {
	f, err := OpenOwn(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if others := checkSecret(path, info); others != nil {
		return nil, others
	}
	key := make([]byte, keySize+1)
	if n, _ := f.Read(key); n != keySize {
		return nil, fmt.Errorf("%s does not hold %d bytes", path, keySize)
	}
	return key[:keySize], nil
}

// makeKey makes a key, whole or not at all, unless there is one.
func makeKey(path string) error {
	f, err := os.CreateTemp(filepath.Dir(path), NewPrefix)
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	key := make([]byte, keySize)
	_, _ = rand.Read(key) // never fails
	_, err = f.Write(key)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	if err = os.Link(f.Name(), path); err == nil || errors.Is(err, fs.ErrExist) {
		return nil
	}
	return os.Rename(f.Name(), path) // a file system without links: the last one counts
}

// Mark begins the mark of a file in the place that a label names. The caller writes the
// content of the file to it; the sum is the mark.
func (s *Store) Mark(label string) hash.Hash {
	h := hmac.New(sha256.New, s.key)
	fmt.Fprintf(h, "%d %s ", len(label), label)
	return h
}

// Write writes a small file with its mark, all or nothing.
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

// Read reads the content of what Write wrote, with its mark at most limit bytes. The error
// is fs.ErrNotExist if there is no file; any other says why it is not to be trusted.
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
