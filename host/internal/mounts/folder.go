package mounts

import (
	"io/fs"
	"os"
	"path"
	"strconv"
	"syscall"
	"time"

	"github.com/tetratelabs/wazero/sys"

	"github.com/anchor-host/anchor-host/host/internal/wazerox/experimentalsys"
	"github.com/anchor-host/anchor-host/internal/units"
)

// folderFS is a folder of the host as one guest sees it: regular files and directories only.
// Its OpenFile is in file.go.
type folderFS struct {
	experimentalsys.UnimplementedFS
	*mount
	guest *Guest
}

// local turns a guest's path into a path relative to the root.
func local(name string) string {
	name = path.Clean("/" + name)[1:]
	if name == "" {
		return "."
	}
	return name
}

func (m *folderFS) Stat(name string) (sys.Stat_t, experimentalsys.Errno) {
	return stat(m.root.Stat(local(name)))
}

func (m *folderFS) Lstat(name string) (sys.Stat_t, experimentalsys.Errno) {
	return stat(m.root.Lstat(local(name)))
}

func stat(info fs.FileInfo, err error) (sys.Stat_t, experimentalsys.Errno) {
	if err != nil {
		return sys.Stat_t{}, errnoOf(err)
	}
	return sys.NewStat_t(info), 0
}

func (m *folderFS) Readlink(name string) (string, experimentalsys.Errno) {
	target, err := m.root.Readlink(local(name))
	return target, errnoOf(err)
}

// change runs f if the mount is writable, with the folder locked.
func (m *folderFS) change(f func() error) experimentalsys.Errno {
	if !m.Writable {
		return experimentalsys.EROFS
	}
	m.account.mu.Lock()
	defer m.account.mu.Unlock()
	return m.guest.refuse(f())
}

func (m *folderFS) Mkdir(name string, _ fs.FileMode) experimentalsys.Errno {
	return m.change(func() error {
		if err := m.room(0, 1); err != nil {
			return err
		}
		err := m.root.Mkdir(local(name), 0o777)
		if err == nil {
			m.account.grow(0, 1)
		}
		return err
	})
}

// Rename implements experimental/sys.FS. The folder gets back the room of what is replaced.
func (m *folderFS) Rename(from, to string) experimentalsys.Errno {
	return m.change(func() error {
		moved, err := m.root.Lstat(local(from))
		if err != nil {
			return err
		}
		replaced, rerr := m.root.Lstat(local(to))
		if err := m.root.Rename(local(from), local(to)); err != nil {
			return err
		}
		if rerr == nil && !os.SameFile(moved, replaced) {
			m.account.removed(replaced)
		}
		return nil
	})
}

func (m *folderFS) Rmdir(name string) experimentalsys.Errno {
	return m.remove(name, true)
}

func (m *folderFS) Unlink(name string) experimentalsys.Errno {
	return m.remove(name, false)
}

func (m *folderFS) remove(name string, dir bool) experimentalsys.Errno {
	name = local(name)
	return m.change(func() error {
		info, err := m.root.Lstat(name)
		switch {
		case err != nil:
			return err
		case dir && !info.IsDir():
			return syscall.ENOTDIR
		case !dir && info.IsDir():
			return syscall.EISDIR
		}
		if err := m.root.Remove(name); err != nil {
			return err
		}
		m.account.removed(info)
		return nil
	})
}

func (m *folderFS) Utimens(name string, atim, mtim int64) experimentalsys.Errno {
	return m.change(func() error {
		info, err := m.root.Stat(local(name))
		if err != nil {
			return err
		}
		at, mt := info.ModTime(), info.ModTime()
		if atim != experimentalsys.UTIME_OMIT {
			at = time.Unix(0, atim)
		}
		if mtim != experimentalsys.UTIME_OMIT {
			mt = time.Unix(0, mtim)
		}
		return m.root.Chtimes(local(name), at, mt)
	})
}

// room fails if the guest may not add so many bytes and files to the folder, and says so in
// the guest's log. The caller holds the lock of the account.
func (m *folderFS) room(bytes, files int64) error {
	a := m.account
	switch {
	case bytes > 0 && bytes > m.Quota-a.bytes:
		m.guest.log.Line("warn", "files: "+m.Guest+" is full: it may hold "+units.FormatSize(m.Quota)+" ("+m.Key+".quota)")
	case files > 0 && files > m.MaxFiles-a.files:
		m.guest.log.Line("warn", "files: "+m.Guest+" is full: it may hold "+strconv.FormatInt(m.MaxFiles, 10)+" files and folders ("+m.Key+".max_files)")
	default:
		return nil
	}
	return errFull
}
