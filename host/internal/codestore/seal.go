package codestore

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// A mark is an HMAC-SHA-256 with a key that only the user can read. It distinguishes files
// that this user's processes wrote from files that others wrote, that were damaged, or that
// were moved to the place of another file.

// keySize is the size of the key, in bytes.
const keySize = 32

const (
	// keyFolder and keyFile are the folder and the file of the key, below the user's
	// configuration folder. So a copy of the store does not contain the key.
	keyFolder, keyFile = "anchor-host", "cache.key"
	// ownKeyFile is the file of the key in the store, if there is no configuration folder.
	ownKeyFile = "key"
)

// ErrSeal is the error for a file whose mark is missing or wrong.
var ErrSeal = errors.New("damaged, or written by somebody without the key of this user")

// openKey reads the key from the user's configuration folder. If there is no such folder that
// belongs to the user alone, it reads the key from the store. It makes a key if there is none.
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

// keyOf reads a key, and makes one first if the file does not exist.
func keyOf(path string) ([]byte, error) {
	key, err := readKey(path)
	if errors.Is(err, fs.ErrNotExist) {
		if err = makeKey(path); err == nil {
			key, err = readKey(path) // another process may have been faster
		}
	}
	if err != nil {
		return nil, fmt.Errorf("key: %w (remove it, and another is made)", err)
	}
	return key, nil
}

// readKey reads a key. It fails if anybody else can read the file.
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

// makeKey writes a new key to a file, unless the file exists. Other processes never see a part
// of the key.
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
	return os.Rename(f.Name(), path) // a file system without links: the last key stays
}
