package host

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

// seal marks files with an HMAC-SHA-256 under a key that only the user can read: what
// others wrote, and what got damaged or lies in another's place, is told from what this
// user's processes wrote.
type seal struct{ key []byte }

// keySize is the size of the key, in bytes.
const keySize = 32

// errSeal marks a file that does not bear the mark.
var errSeal = errors.New("damaged, or written by somebody without the key of this user")

// openSeal takes the key from the user's folder of configuration, or, where there is none
// that is the user's alone, from the cache. It is made if it is not there.
func openSeal(cache string) (*seal, error) {
	if dir, err := os.UserConfigDir(); err == nil {
		if dir, err = ownFolder(filepath.Join(dir, keyFolder)); err == nil {
			if s, err := sealOf(filepath.Join(dir, keyFile)); err == nil {
				return s, nil
			}
		}
	}
	return sealOf(filepath.Join(cache, ownKeyFile))
}

// sealOf reads a key, or makes one.
func sealOf(path string) (*seal, error) {
	key, err := readKey(path)
	if errors.Is(err, fs.ErrNotExist) {
		if err = makeKey(path); err == nil {
			key, err = readKey(path) // that of another process, if it was faster
		}
	}
	if err != nil {
		return nil, fmt.Errorf("key: %w (remove it, and another is made)", err)
	}
	return &seal{key}, nil
}

// readKey reads a key that nobody else can read.
func readKey(path string) ([]byte, error) {
	f, err := openOwn(path)
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
	f, err := os.CreateTemp(filepath.Dir(path), newPrefix)
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

// mark begins the mark of a file: it is that of its content, which is to be written to
// it, in the place that a label names.
func (s *seal) mark(label string) hash.Hash {
	h := hmac.New(sha256.New, s.key)
	fmt.Fprintf(h, "%d %s ", len(label), label)
	return h
}

// write writes a small file, all or nothing: its mark and its content.
func (s *seal) write(path, label string, content []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), newPrefix)
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) // unless it was renamed
	m := s.mark(label)
	_, _ = m.Write(content)
	_, err = f.WriteString(hex.EncodeToString(m.Sum(nil)) + " " + string(content) + "\n")
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	return err
}

// read reads what write wrote. The error is fs.ErrNotExist if there is no file; any other
// says why it is not to be trusted.
func (s *seal) read(path, label string, limit int64) ([]byte, error) {
	text, err := readOwn(path, limit)
	if err != nil {
		return nil, err
	}
	sum, content, _ := bytes.Cut(bytes.TrimSuffix(text, []byte("\n")), []byte(" "))
	m := s.mark(label)
	_, _ = m.Write(content)
	if !hmac.Equal(sum, []byte(hex.EncodeToString(m.Sum(nil)))) {
		return nil, errSeal
	}
	return content, nil
}
