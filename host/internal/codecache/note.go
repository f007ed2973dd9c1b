package codecache

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"

	"github.com/anchor-host/anchor-host/host/internal/codestore"
)

// note is the note in an entry. It bears the user's mark, which covers the machine code by
// its hash.
type note struct {
	// File is wazero's name of the code, SHA256 its hash.
	File   string
	SHA256 [sha256.Size]byte
}

// seen holds the FileKey that the file of an entry had when it was last hashed.
type seen struct{ Key []byte }

const (
	// noteFile is the name of the note in an entry, maxNote more than its size in bytes.
	noteFile = "sum"
	maxNote  = 4 << 10
	// noteLabel and the name of the entry are the label under which a note is marked.
	noteLabel = "code "
	// kindSeen is the kind of the notes that hold a seen, by the name of the entry.
	kindSeen = "seen"
)

// writeNote writes the note on a file of machine code into dir, which becomes the entry.
func (c *Cache) writeNote(dir, entry, code, name string) error {
	f, err := codestore.OpenOwn(code)
	if err != nil {
		return err
	}
	defer f.Close()
	sum, err := hashOf(f)
	if err != nil {
		return err
	}
	text, err := json.Marshal(note{File: name, SHA256: sum})
	if err != nil {
		return err
	}
	return c.o.Store.Write(filepath.Join(dir, noteFile), noteLabel+entry, text)
}

// readNote reads the note of an entry.
func (c *Cache) readNote(entry string) (n note, err error) {
	dir := filepath.Join(c.dir, entry)
	info, err := os.Lstat(dir)
	if err == nil && !info.IsDir() {
		err = errors.New("not a folder")
	}
	if err == nil {
		err = codestore.CheckOwn(dir, info)
	}
	if err != nil {
		return n, err
	}
	text, err := c.o.Store.Read(filepath.Join(dir, noteFile), noteLabel+entry, maxNote)
	if err != nil {
		return n, err
	}
	return n, json.Unmarshal(text, &n)
}

// verify checks the machine code of an entry against its note. It does not read the file
// again if the system shows that nobody has written to it since it was last hashed.
func (c *Cache) verify(entry string, n note) error {
	f, err := codestore.OpenOwn(filepath.Join(c.dir, entry, n.File))
	if err != nil {
		return err
	}
	defer f.Close()
	var last seen
	key := c.o.Notes.FileKey(f)
	if key != nil && c.o.Notes.Get(kindSeen, []byte(entry), &last) && bytes.Equal(last.Key, key) {
		return nil
	}
	sum, err := hashOf(f)
	if err == nil && sum != n.SHA256 {
		err = codestore.ErrSeal
	}
	if err == nil && key != nil && bytes.Equal(key, c.o.Notes.FileKey(f)) {
		c.o.Notes.Put(kindSeen, []byte(entry), seen{key})
	}
	return err
}

func hashOf(f *os.File) (sum [sha256.Size]byte, err error) {
	h := sha256.New()
	_, err = io.Copy(h, f)
	h.Sum(sum[:0])
	return sum, err
}
