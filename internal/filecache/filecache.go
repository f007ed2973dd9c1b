// Package filecache keeps files that take long to make in a folder: only the newest, each with a sum
// that tells one that was damaged.
package filecache

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/anchor-host/anchor-host/internal/atomicfile"
)

// Folder is a folder of files that can be made again.
type Folder struct {
	// Dir is its path. It is made when it is needed.
	Dir string
	// Most is how many files it keeps: the newest.
	Most int
}

// Key returns the name of a file that depends on some texts.
func Key(texts ...string) string {
	h := sha256.New()
	for _, t := range texts {
		fmt.Fprintf(h, "%d\n%s", len(t), t)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// Get returns the file of a name, or makes and keeps it. A file begins with the SHA-256 of the rest.
// A folder that cannot be read or written keeps none: the next call makes the file again. The error
// is that of build.
func (f Folder) Get(name string, build func() ([]byte, error)) ([]byte, error) {
	file := filepath.Join(f.Dir, name)
	if data, err := os.ReadFile(file); err == nil && len(data) > sha256.Size {
		if sum := sha256.Sum256(data[sha256.Size:]); bytes.Equal(sum[:], data[:sha256.Size]) {
			return data[sha256.Size:], nil
		}
	}
	data, err := build()
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(data)
	if os.MkdirAll(f.Dir, 0o700) == nil && atomicfile.Write(file, 0o600, slices.Concat(sum[:], data)) == nil {
		f.prune()
	}
	return data, nil
}

// prune removes all but the newest files.
func (f Folder) prune() {
	entries, err := os.ReadDir(f.Dir)
	if err != nil {
		return
	}
	var infos []fs.FileInfo
	for _, e := range entries {
		if info, err := e.Info(); err == nil && info.Mode().IsRegular() {
			infos = append(infos, info)
		}
	}
	slices.SortFunc(infos, func(a, b fs.FileInfo) int { return cmp.Compare(b.ModTime().UnixNano(), a.ModTime().UnixNano()) })
	for _, info := range infos[min(f.Most, len(infos)):] {
		_ = os.Remove(filepath.Join(f.Dir, info.Name())) // another build may have done it
	}
}
