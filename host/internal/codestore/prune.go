package codestore

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Use marks a file or folder as used at this moment. [Prune] removes the least recently used
// ones first.
func Use(path string) {
	now := time.Now()
	_ = os.Chtimes(path, now, now)
}

// Prune removes entries of a folder, both files and folders, until the others take at most
// limit bytes. It removes the least recently used entries first, by their modification times,
// which users of an entry must set. It ignores entries that are being made. It also ignores
// errors, because another process may be pruning the same folder.
func Prune(dir string, limit int64) {
	list, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	type entry struct {
		path string
		used time.Time
		size int64
	}
	var entries []entry
	total := int64(0)
	for _, e := range list {
		info, err := e.Info()
		if err != nil || strings.HasPrefix(e.Name(), NewPrefix) {
			continue
		}
		path := filepath.Join(dir, e.Name())
		size := sizeOf(path)
		total += size
		entries = append(entries, entry{path, info.ModTime(), size})
	}
	slices.SortFunc(entries, func(a, b entry) int { return a.used.Compare(b.used) })
	for _, e := range entries {
		if total <= limit {
			return
		}
		if os.RemoveAll(e.path) == nil {
			total -= e.size
		}
	}
}

// sizeOf returns the size of a file, or of all files below a folder, in bytes.
func sizeOf(path string) (size int64) {
	_ = filepath.WalkDir(path, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return nil //nolint:nilerr // what cannot be seen takes no room
		}
		if info, err := d.Info(); err == nil {
			size += info.Size()
		}
		return nil
	})
	return size
}
