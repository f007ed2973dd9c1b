package host

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/anchor-host/anchor-host/host/internal/wasmbin"
)

// factsCache keeps on disk what was found out about modules, between processes:
// small files, each with a checksum. A file that is damaged goes, and the module is
// read again; a folder that cannot be used is as none.
type factsCache struct{ dir string }

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
	// factsSize is what all files may take, in bytes: those of some hundred stock
	// Go guests.
	factsSize = 32 << 20
	// maxFacts bounds one of them, in bytes.
	maxFacts = 1 << 20
)

// openFacts returns the facts below a cache folder, nil if there is none.
func openFacts(cacheDir string) *factsCache {
	switch cacheDir {
	case "":
		cacheDir = defaultCacheDir()
	case CacheOff:
		return nil
	}
	if cacheDir == "" {
		return nil
	}
	return &factsCache{filepath.Join(cacheDir, factsFolder)}
}

// path is the file of a key: what is in it depends on the module and on who read it.
func (c *factsCache) path(kind string, key []byte) string {
	h := sha256.New()
	fmt.Fprintf(h, "%s %s ", wasmbin.Revision(), kind)
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
	info, err := os.Stat(path)
	if err != nil {
		return false
	}
	var text []byte
	if info.Mode().IsRegular() && info.Size() <= maxFacts {
		text, err = os.ReadFile(path)
	}
	sum, content, _ := strings.Cut(strings.TrimSuffix(string(text), "\n"), " ")
	if err != nil || sum != factsSum(filepath.Base(path), content) || json.Unmarshal([]byte(content), into) != nil {
		_ = os.RemoveAll(path)
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
	if err != nil || len(content) > maxFacts/2 || os.MkdirAll(c.dir, 0o700) != nil {
		return
	}
	f, err := os.CreateTemp(c.dir, newPrefix)
	if err != nil {
		return
	}
	defer os.Remove(f.Name())
	path := c.path(kind, key)
	_, err = f.WriteString(factsSum(filepath.Base(path), string(content)) + " " + string(content) + "\n")
	if f.Close() == nil && err == nil && os.Rename(f.Name(), path) == nil {
		prune(c.dir, factsSize)
	}
}

// factsSum is the checksum of a file: of its content, and of the name under which
// it was written.
func factsSum(name, content string) string {
	sum := sha256.Sum256([]byte(name + " " + content))
	return hex.EncodeToString(sum[:])
}
