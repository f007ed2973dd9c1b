package host

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/anchor-host/anchor-host/host/internal/wasmbin"
)

// factsCache keeps on disk what the code of modules says, between processes: one
// small file for each module, with a checksum. A file that is damaged goes, and the
// code is read again; a folder that cannot be used is as none.
type factsCache struct{ dir string }

const (
	factsFolder = "facts"
	// factsSize is what all files may take, in bytes: those of some thousand
	// modules.
	factsSize = 1 << 20
	// maxFacts bounds one of them, in bytes.
	maxFacts = 4 << 10
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

// path is the file of a module: what is in it depends on the module and on who read
// it.
func (c *factsCache) path(digest [sha256.Size]byte) string {
	sum := sha256.Sum256(append([]byte(wasmbin.Revision()), digest[:]...))
	return filepath.Join(c.dir, hex.EncodeToString(sum[:]))
}

// get returns what is kept of a module.
func (c *factsCache) get(digest [sha256.Size]byte) (facts wasmbin.Facts, ok bool) {
	if c == nil {
		return facts, false
	}
	path := c.path(digest)
	info, err := os.Stat(path)
	if err != nil {
		return facts, false
	}
	var text []byte
	if info.Mode().IsRegular() && info.Size() <= maxFacts {
		text, err = os.ReadFile(path)
	}
	sum, content, _ := strings.Cut(strings.TrimSuffix(string(text), "\n"), " ")
	if err != nil || sum != factsSum(filepath.Base(path), content) || json.Unmarshal([]byte(content), &facts) != nil {
		_ = os.RemoveAll(path)
		return wasmbin.Facts{}, false
	}
	now := time.Now()
	_ = os.Chtimes(path, now, now) // least recently used ones go first
	return facts, true
}

// put keeps what was found out about a module, all or nothing.
func (c *factsCache) put(digest [sha256.Size]byte, facts wasmbin.Facts) {
	if c == nil {
		return
	}
	content, err := json.Marshal(facts)
	if err != nil || os.MkdirAll(c.dir, 0o700) != nil {
		return
	}
	f, err := os.CreateTemp(c.dir, newPrefix)
	if err != nil {
		return
	}
	defer os.Remove(f.Name())
	path := c.path(digest)
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
