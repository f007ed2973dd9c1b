package mounts

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/tetratelabs/wazero"

	"github.com/anchor-host/anchor-host/host/internal/codestore"
	"github.com/anchor-host/anchor-host/host/internal/wazerox"
)

// Set is the mounts of one plugin. Its zero value has none. After Open it is safe for
// concurrent use until Close.
type Set struct {
	list []*mount
	// folders are what folders hold, those that are writable.
	folders *Folders
	budget  *Budget
}

// Options are what mounts of a plugin share with others.
type Options struct {
	// Folders is what the plugins of a host share.
	Folders *Folders
	// Budget counts the open files of the plugin.
	Budget *Budget
	// Try runs a function that calls an embedder's file system, for a bounded time.
	Try func(func() error) error
}

// Open opens the grants one after the other, and stops at the first error. Errors wrap
// [ErrFolder]. The caller closes the set, even after an error. ctx bounds the time for
// counting what is in the folders.
func (s *Set) Open(ctx context.Context, grants []Grant, o Options) error {
	s.folders, s.budget = o.Folders, o.Budget
	for _, g := range grants {
		m := &mount{Grant: g, budget: o.Budget}
		var err error
		if g.FS != nil {
			err = o.Try(func() error { return checkRoot(g.FS) })
		} else {
			err = s.openFolder(ctx, m)
		}
		switch {
		case err != nil && g.FS != nil:
			return mark(ErrFolder, fmt.Errorf("%s.fs: open the root: %w", g.Key, err))
		case err != nil:
			return err
		}
		s.list = append(s.list, m)
	}
	return nil
}

// openFolder opens the folder of a mount. After an error nothing is open.
func (s *Set) openFolder(ctx context.Context, m *mount) (err error) {
	if m.path, err = filepath.Abs(m.Host); err != nil {
		return mark(ErrFolder, fmt.Errorf("%s.host: %w", m.Key, err))
	}
	if !s.budget.process.take() {
		return mark(ErrFolder, fmt.Errorf("%s.host: open %s: %w", m.Key, m.Host, errProcessFiles))
	}
	if m.root, err = OpenFolder(m.Host); err == nil {
		m.info, err = m.root.Stat(".")
	}
	if err == nil && m.Writable {
		m.account, err = s.folders.enter(ctx, m.root, m.info, m.MaxFiles)
	}
	if err != nil {
		s.close(m)
		return folderError(m.Key, m.Host, err)
	}
	return nil
}

// Check fails if a folder is gone, or another has taken its place, since it was opened: the
// guest would see another folder than its operator does. The error wraps [ErrFolder].
func (s *Set) Check() error {
	for _, m := range s.list {
		if m.FS != nil {
			continue
		}
		info, err := os.Stat(m.path)
		switch {
		case err != nil:
			return mark(ErrFolder, fmt.Errorf("%s.host: %s is gone: %w", m.Key, m.path, cause(err)))
		case !os.SameFile(info, m.info):
			return mark(ErrFolder, fmt.Errorf("%s.host: %s is not the folder that was there when the plugin was loaded", m.Key, m.path))
		}
	}
	return nil
}

// Close closes the folders. No guest may use them any more.
func (s *Set) Close() {
	for _, m := range s.list {
		s.close(m)
	}
	s.list = nil
}

func (s *Set) close(m *mount) {
	if m.FS != nil {
		return
	}
	s.budget.process.give()
	if m.account != nil {
		s.folders.leave(m.account)
	}
	if m.root != nil {
		_ = m.root.Close() // closing a directory loses nothing
	}
}

// Len returns the number of mounts.
func (s *Set) Len() int { return len(s.list) }

// Config makes the mounts available to one guest.
func (s *Set) Config(g *Guest) wazero.FSConfig {
	cfg := wazero.NewFSConfig()
	for _, m := range s.list {
		if m.FS != nil {
			cfg = wazerox.Mount(cfg, &embedderFS{files: m.FS, guest: g, budget: m.budget}, m.Guest)
			continue
		}
		cfg = wazerox.Mount(cfg, &folderFS{mount: m, guest: g}, m.Guest)
	}
	return cfg
}

const (
	// maxFingerprint is the most files, of all mounts together, that are checked for changes.
	maxFingerprint = 50_000
	// settling is the age after which a change to a file certainly shows in its time.
	settling = 100 * time.Millisecond
)

// Fingerprint returns a hash of the names, sizes, times and stamps of all files in the mounts.
// ok is false if there are too many files, if one changed just now, if ctx ended, or if the
// embedder provides a file system, as its changes cannot be detected.
func (s *Set) Fingerprint(ctx context.Context) (sum string, ok bool) {
	h := sha256.New()
	enc := json.NewEncoder(h)
	seen := 0
	var newest time.Time
	for _, m := range s.list {
		if m.FS != nil {
			return "", false
		}
		_ = enc.Encode([]any{m.Guest, m.Writable})
		err := fs.WalkDir(listing{m.root.FS(), ctx}, ".", func(path string, d fs.DirEntry, err error) error {
			if seen++; err != nil || seen > maxFingerprint || ctx.Err() != nil {
				return errors.Join(err, ctx.Err(), fs.ErrInvalid)
			}
			info, err := d.Info()
			if err != nil {
				return err
			}
			if t := info.ModTime(); t.After(newest) {
				newest = t
			}
			s := codestore.StampOf(info)
			return enc.Encode([]any{path, info.Size(), info.ModTime().UnixNano(), info.Mode(), s.Inode, s.Changed})
		})
		if err != nil {
			return "", false
		}
	}
	return hex.EncodeToString(h.Sum(nil)), time.Since(newest) > settling
}

// listing reads directories until a context ends, and no more entries of one than are checked:
// a directory may have any number.
type listing struct {
	fs.FS
	ctx context.Context
}

// ReadDir implements fs.ReadDirFS.
func (l listing) ReadDir(name string) (entries []fs.DirEntry, err error) {
	f, err := l.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	dir, ok := f.(fs.ReadDirFile)
	if !ok {
		return nil, &fs.PathError{Op: "readdir", Path: name, Err: fs.ErrInvalid}
	}
	for err == nil && len(entries) <= maxFingerprint {
		var some []fs.DirEntry
		if some, err = dir.ReadDir(listed); err == nil {
			err = l.ctx.Err()
		}
		entries = append(entries, some...)
	}
	if err == io.EOF {
		err = nil
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return entries, err
}
