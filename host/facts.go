package host

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/anchor-host/anchor-host/host/internal/codestore"
	"github.com/anchor-host/anchor-host/host/internal/wasmbin"
)

// factsCache keeps on disk what was found out about modules, between processes:
// small files, each sealed. A file that is damaged or of somebody else goes, and the
// module is read again; a folder that cannot be used is as none.
type factsCache struct {
	root *cacheRoot
	dir  string
}

// What is kept of a module.
const (
	// kindFacts is what its code says, by its digest.
	kindFacts = "facts"
	// kindOutline is what it is without its code, by the stamp of its file.
	kindOutline = "outline"
	// kindShell is its shell, by the key of its machine code.
	kindShell = "shell"
)

const (
	factsFolder = "facts"
	// factsFormat is changed when the files are made in another way.
	factsFormat = "2"
	// factsSize is what all files may take, in bytes: those of some hundred stock
	// Go guests.
	factsSize = 32 << 20
	// maxFacts bounds one of them, in bytes.
	maxFacts = 1 << 20
)

// openFacts returns the facts in a folder of what is kept, nil if there are none.
func openFacts(root *cacheRoot) *factsCache {
	dir, err := root.Folder(factsFolder)
	if err != nil {
		root.Log.Warn("nothing is kept about modules", "reason", err)
		return nil
	}
	return &factsCache{root, dir}
}

// path is the file of a key: what is in it depends on the module and on who read it.
func (c *factsCache) path(kind string, key []byte) string {
	h := sha256.New()
	fmt.Fprintf(h, "%s %s %s ", factsFormat, wasmbin.Revision(), kind)
	h.Write(key)
	return filepath.Join(c.dir, hex.EncodeToString(h.Sum(nil)))
}

// get reads what is kept under a key into a pointer, and reports whether there is
// anything.
func (c *factsCache) get(kind string, key []byte, into any) bool {
	if c == nil {
		return false
	}
	path := c.path(kind, key)
	content, err := c.root.Read(path, factsLabel(path), maxFacts)
	if errors.Is(err, fs.ErrNotExist) {
		return false
	}
	if err == nil {
		err = json.Unmarshal(content, into)
	}
	if err != nil {
		c.root.Refuse(path, err)
		return false
	}
	now := time.Now()
	_ = os.Chtimes(path, now, now) // least recently used ones go first
	return true
}

// put keeps what was found out, all or nothing.
func (c *factsCache) put(kind string, key []byte, what any) {
	if c == nil {
		return
	}
	content, err := json.Marshal(what)
	if err != nil || len(content) > maxFacts/2 {
		return
	}
	path := c.path(kind, key)
	if c.root.Write(path, factsLabel(path), content) == nil {
		codestore.Prune(c.dir, factsSize)
	}
}

// factsLabel is what a file is sealed for.
func factsLabel(path string) string { return "facts " + filepath.Base(path) }
