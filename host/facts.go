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

// factsCache keeps on disk, between processes, what was found out about modules: in small
// files, each with the user's mark. A file that is damaged or belongs to another user is
// removed, and the module is read again. A nil cache keeps nothing.
type factsCache struct {
	root *cacheRoot
	dir  string
}

// The kinds of facts about a module.
const (
	// kindFacts is what was found in its code, by the digest of the module.
	kindFacts = "facts"
	// kindOutline is the module without its code and data, by the fileKey of its file.
	kindOutline = "outline"
	// kindShell is the shell of the module, by the key of its machine code.
	kindShell = "shell"
)

const (
	factsFolder = "facts"
	// factsFormat must change when the content of the files changes its meaning.
	factsFormat = "2"
	// factsSize bounds all files together, in bytes: those of some hundred stock Go guests.
	factsSize = 32 << 20
	// maxFacts bounds one file, in bytes.
	maxFacts = 1 << 20
)

// openFacts opens the facts in the cache folder. It returns nil, with a warning, if it
// cannot.
func openFacts(root *cacheRoot) *factsCache {
	dir, err := root.Folder(factsFolder)
	if err != nil {
		root.Log.Warn("nothing is kept about modules", "reason", err)
		return nil
	}
	return &factsCache{root, dir}
}

// path is the file of a key. It depends on the version of the code that finds facts.
func (c *factsCache) path(kind string, key []byte) string {
	h := sha256.New()
	fmt.Fprintf(h, "%s %s %s ", factsFormat, wasmbin.Revision(), kind)
	h.Write(key)
	return filepath.Join(c.dir, hex.EncodeToString(h.Sum(nil)))
}

// get reads the fact kept under a key into a pointer, and reports whether there is one.
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

// put keeps a fact, all or nothing.
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

// factsLabel is the label under which a file is marked.
func factsLabel(path string) string { return "facts " + filepath.Base(path) }
