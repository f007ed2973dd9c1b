package mounts

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/tetratelabs/wazero"

	"github.com/anchor-host/anchor-host/host/internal/wazerox"
	"github.com/anchor-host/anchor-host/internal/errkind"
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
			return errkind.As(ErrFolder, fmt.Errorf("%s.fs: open the root: %w", g.Key, err))
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
		return errkind.As(ErrFolder, fmt.Errorf("%s.host: %w", m.Key, err))
	}
	if !s.budget.process.take() {
		return errkind.As(ErrFolder, fmt.Errorf("%s.host: open %s: %w", m.Key, m.Host, errProcessFiles))
	}
	if m.root, err = OpenFolder(m.Host); err == nil {
		m.info, err = m.root.Stat(".")
	}
	if err == nil && m.Writable {
		m.account, err = s.folders.enter(ctx, m.root, m.info, m.counted())
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
			return errkind.As(ErrFolder, fmt.Errorf("%s.host: %s was removed: %w", m.Key, m.path, cause(err)))
		case !os.SameFile(info, m.info):
			return errkind.As(ErrFolder, fmt.Errorf("%s.host: %s is not the folder that was there when the plugin was loaded", m.Key, m.path))
		}
	}
	return nil
}

// Close closes the folders. No guest may use them any more. It is called once. It leaves the
// list as it is, because a call that finds the plugin closed may still be in Check.
func (s *Set) Close() {
	for _, m := range s.list {
		s.close(m)
	}
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

// Root is a mounted folder.
type Root struct {
	// Guest is where guests see it.
	Guest    string
	Writable bool
	// Files are its files.
	Files fs.FS
}

// Roots returns the mounted folders. ok is false if a file system of the embedder is among the
// mounts.
func (s *Set) Roots() (roots []Root, ok bool) {
	for _, m := range s.list {
		if m.FS != nil {
			return nil, false
		}
		roots = append(roots, Root{m.Guest, m.Writable, m.root.FS()})
	}
	return roots, true
}
