package host

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/anchor-host/anchor-host/host/internal/codestore"
)

// codeNote is the note in an entry of the code cache. It bears the user's mark, which
// covers the machine code by its hash.
type codeNote struct {
	// File is wazero's name of the code, SHA256 its hash.
	File   string
	SHA256 [sha256.Size]byte
}

// codeSeen holds the FileKey that the file of an entry had when it was last hashed.
type codeSeen struct{ Key []byte }

const (
	// noteFile is the name of the note in an entry, maxNote more than its size in bytes.
	noteFile = "sum"
	maxNote  = 4 << 10
	// noteLabel and the name of the entry are the label under which a note is marked.
	noteLabel = "code "
	// kindSeen is the kind of fact that holds a codeSeen, by the name of the entry.
	kindSeen = "seen"
)

// identify sets engine: a hash of the version of wazero and of the machine code in files.
// That code depends on the processor too. The caller has had wazero compile one module
// before.
func (c *codeCache) identify() error {
	build, err := engineBuild()
	if err != nil {
		return err
	}
	made, err := c.made()
	if err == nil && len(made) == 0 {
		err = errors.New("wazero left no machine code")
	}
	if err != nil {
		return err
	}
	h := sha256.New()
	fmt.Fprintf(h, "%q", build)
	slices.Sort(made)
	for _, name := range made {
		code, err := os.ReadFile(filepath.Join(c.files, name))
		if err != nil {
			return err
		}
		fmt.Fprintf(h, "%q %d ", name, len(code))
		h.Write(code)
	}
	c.engine = h.Sum(nil)
	return nil
}

// nameEntry returns the name of the entry of a key, "" if nothing is kept.
func (c *codeCache) nameEntry(key string) string {
	if c.engine == nil {
		return ""
	}
	h := sha256.New()
	h.Write(c.engine)
	h.Write([]byte(key))
	return hex.EncodeToString(h.Sum(nil))
}

// writeNote writes the note on a file of machine code into dir, which becomes the entry.
func (c *codeCache) writeNote(dir, entry, code, name string) error {
	f, err := codestore.OpenOwn(code)
	if err != nil {
		return err
	}
	defer f.Close()
	sum, err := hashOf(f)
	if err != nil {
		return err
	}
	text, err := json.Marshal(codeNote{File: name, SHA256: sum})
	if err != nil {
		return err
	}
	return c.root.Write(filepath.Join(dir, noteFile), noteLabel+entry, text)
}

// readNote reads the note of an entry.
func (c *codeCache) readNote(entry string) (n codeNote, err error) {
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
	text, err := c.root.Read(filepath.Join(dir, noteFile), noteLabel+entry, maxNote)
	if err != nil {
		return n, err
	}
	return n, json.Unmarshal(text, &n)
}

// verify checks the machine code of an entry against its note. It does not read the file
// again if the system shows that nobody has written to it since it was last hashed.
func (c *codeCache) verify(entry string, n codeNote) error {
	f, err := codestore.OpenOwn(filepath.Join(c.dir, entry, n.File))
	if err != nil {
		return err
	}
	defer f.Close()
	var seen codeSeen
	key := c.root.facts.FileKey(f)
	if key != nil && c.root.facts.Get(kindSeen, []byte(entry), &seen) && bytes.Equal(seen.Key, key) {
		return nil
	}
	sum, err := hashOf(f)
	if err == nil && sum != n.SHA256 {
		err = codestore.ErrSeal
	}
	if err == nil && key != nil && bytes.Equal(key, c.root.facts.FileKey(f)) {
		c.root.facts.Put(kindSeen, []byte(entry), codeSeen{key})
	}
	return err
}

func hashOf(f *os.File) (sum [sha256.Size]byte, err error) {
	h := sha256.New()
	_, err = io.Copy(h, f)
	h.Sum(sum[:0])
	return sum, err
}
