package codestore

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

const (
	// runPrefix is the prefix of the folders of processes.
	runPrefix = "run-"
	// staleAfter is the age at which the folders of processes that are gone, and half-made
	// entries, are removed.
	staleAfter = 24 * time.Hour
)

// RunFolder makes an empty folder for this process alone. Its user removes it at the end, and
// marks it with [Use] at least once a day while it is in use. If nothing can be written in the
// store, as in an image of a container, the folder lies among the system's temporary ones.
func (s *Store) RunFolder() (string, error) {
	dir, err := os.MkdirTemp(s.Dir, runPrefix)
	if !errors.Is(err, syscall.EROFS) && !errors.Is(err, fs.ErrPermission) {
		return dir, err
	}
	return os.MkdirTemp("", "anchor-host-"+runPrefix)
}

// Sweep removes what processes left behind that ended without removing it and that is older
// than a day: their folders, and half-made files and folders.
func (s *Store) Sweep() {
	for _, name := range removeStale(s.Dir, runPrefix) {
		removeStale(filepath.Join(s.Dir, name), NewPrefix)
	}
}

// removeStale removes the stale entries of dir that have the prefix. It returns the names of
// those without the prefix.
func removeStale(dir, prefix string) (others []string) {
	list, _ := os.ReadDir(dir)
	for _, e := range list {
		if !strings.HasPrefix(e.Name(), prefix) {
			others = append(others, e.Name())
		} else if info, err := e.Info(); err == nil && time.Since(info.ModTime()) > staleAfter {
			_ = os.RemoveAll(filepath.Join(dir, e.Name()))
		}
	}
	return others
}

// Use marks a file or folder as used at this moment. [Prune] removes the least recently used
// ones first, and [Store.Sweep] those that nobody uses.
func Use(path string) {
	now := time.Now()
	_ = os.Chtimes(path, now, now)
}

// Prune removes entries of a folder, both files and folders, until the others take at most
// limit bytes. It removes the least recently used entries first, by their modification times,
// which users of an entry set with [Use]. It ignores entries that are being made. It also ignores
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
		path, size := filepath.Join(dir, e.Name()), info.Size()
		if e.IsDir() {
			size = sizeOf(path)
		}
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

// sizeOf returns the size of all files below a folder, in bytes.
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
