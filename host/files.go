package host

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/tetratelabs/wazero"
	experimentalsys "github.com/tetratelabs/wazero/experimental/sys"
	"github.com/tetratelabs/wazero/experimental/sysfs"
	"github.com/tetratelabs/wazero/sys"
)

// ErrFolder marks a granted folder that cannot be opened: it may be there the next
// time, unlike what else ErrConfig marks.
var ErrFolder = errors.New("folder cannot be opened")

// mounts opens the directories of the grants. Every access goes through
// os.Root, so neither ".." nor a link leads out of them. They must be closed
// with the plugin.
func mounts(grants, configured []FileGrant) ([]mount, error) {
	var out []mount
	open := &budget{limit: maxOpenFiles}
	for _, g := range grants {
		root, err := os.OpenRoot(g.Host)
		if err != nil {
			closeMounts(out)
			at := slices.IndexFunc(configured, func(c FileGrant) bool { return c.Host == g.Host && c.Guest == g.Guest })
			return nil, as(ErrFolder, folderError(at, g.Host, cause(err)))
		}
		out = append(out, mount{root: root, guest: cleanGuest(g.Guest), writable: g.Mode == ModeRW, open: open})
	}
	if _, ok := wazero.NewFSConfig().(sysfs.FSConfig); !ok && len(out) > 0 {
		closeMounts(out)
		return nil, errors.New("grants.files: this build of wazero cannot mount directories")
	}
	return out, nil
}

// folderError says what is wrong with the folder of a grant.
func folderError(at int, name string, err error) error {
	info, statErr := os.Stat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return as(err, fmt.Errorf("grants.files[%d].host: %s does not exist (create it or mend the path)", at, name))
	case statErr == nil && !info.IsDir():
		return as(err, fmt.Errorf("grants.files[%d].host: %s is not a directory (name a folder)", at, name))
	}
	return fmt.Errorf("grants.files[%d].host: open %s: %w (the folder must be readable)", at, name, err)
}

func closeMounts(mounts []mount) {
	for _, m := range mounts {
		_ = m.root.Close() // read access only; nothing is lost
	}
}

// fsConfig is what one instance sees of the mounts. live counts the files it has
// open.
func fsConfig(mounts []mount, live *int) wazero.FSConfig {
	cfg := wazero.NewFSConfig()
	for _, m := range mounts {
		m.live = live
		cfg = cfg.(sysfs.FSConfig).WithSysFSMount(&m, m.guest)
	}
	return cfg
}

// openRegular opens a regular file for reading. It neither waits for the writer
// of a pipe nor touches a device.
func openRegular(root *os.Root, name string) (*os.File, error) {
	f, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = errors.New("not a regular file")
	}
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	return f, nil
}

// mount is one directory of the host as a guest sees it: regular files and
// directories.
type mount struct {
	experimentalsys.UnimplementedFS
	root     *os.Root
	guest    string
	writable bool
	// live counts the open files of one instance.
	live *int
	// open counts the open files of the plugin, of all its mounts and
	// instances.
	open *budget
}

// maxOpenFiles is the most files of one plugin that are open at a time: file
// descriptors belong to the whole process.
const maxOpenFiles = 256

// local turns a guest's path into one below the root.
func local(name string) string {
	name = path.Clean("/" + name)[1:]
	if name == "" {
		return "."
	}
	return name
}

// errno is the error number of an error; an attempt to leave the mount has none
// of its own.
func errno(err error) experimentalsys.Errno {
	var number syscall.Errno
	if err == nil || errors.As(err, &number) || errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrExist) ||
		errors.Is(err, fs.ErrPermission) || errors.Is(err, fs.ErrClosed) || errors.Is(err, fs.ErrInvalid) {
		return experimentalsys.UnwrapOSError(err)
	}
	if strings.Contains(err.Error(), "escapes") {
		return experimentalsys.EPERM
	}
	return experimentalsys.UnwrapOSError(err)
}

// OpenFile implements experimental/sys.FS.
func (m *mount) OpenFile(name string, flag experimentalsys.Oflag, perm fs.FileMode) (experimentalsys.File, experimentalsys.Errno) {
	const writes = experimentalsys.O_RDWR | experimentalsys.O_WRONLY | experimentalsys.O_APPEND |
		experimentalsys.O_CREAT | experimentalsys.O_TRUNC
	if flag&writes != 0 && !m.writable {
		return nil, experimentalsys.EROFS
	}
	name = local(name)
	if info, err := m.root.Lstat(name); err == nil && flag&experimentalsys.O_NOFOLLOW != 0 && info.Mode()&fs.ModeSymlink != 0 {
		return nil, experimentalsys.ELOOP
	}
	if !m.open.take(1) {
		return nil, experimentalsys.EAGAIN
	}
	f, err := m.root.OpenFile(name, osFlags(flag), perm&0o666)
	if err != nil {
		m.open.give(1)
		return nil, errno(err)
	}
	*m.live++
	opened := &mountedFile{file: f, open: m.open, live: m.live, append: flag&experimentalsys.O_APPEND != 0, writable: flag&writes != 0}
	info, err := f.Stat()
	number := errno(err)
	switch {
	case err != nil:
	case !info.IsDir() && !info.Mode().IsRegular():
		number = experimentalsys.EPERM
	case !info.IsDir() && flag&experimentalsys.O_DIRECTORY != 0:
		number = experimentalsys.ENOTDIR
	default:
		opened.dir = info.IsDir()
		return opened, 0
	}
	_ = opened.Close()
	return nil, number
}

// osFlags translates open flags. Nothing is waited for: opening a pipe must not
// block the host.
func osFlags(flag experimentalsys.Oflag) int {
	out := os.O_RDONLY
	switch {
	case flag&experimentalsys.O_RDWR != 0:
		out = os.O_RDWR
	case flag&experimentalsys.O_WRONLY != 0:
		out = os.O_WRONLY
	}
	for _, f := range []struct {
		guest experimentalsys.Oflag
		os    int
	}{
		{experimentalsys.O_APPEND, os.O_APPEND}, {experimentalsys.O_CREAT, os.O_CREATE},
		{experimentalsys.O_EXCL, os.O_EXCL}, {experimentalsys.O_TRUNC, os.O_TRUNC}, {experimentalsys.O_SYNC, os.O_SYNC},
	} {
		if flag&f.guest != 0 {
			out |= f.os
		}
	}
	return out | syscall.O_NONBLOCK
}

// Stat implements experimental/sys.FS.
func (m *mount) Stat(name string) (sys.Stat_t, experimentalsys.Errno) {
	return stat(m.root.Stat(local(name)))
}

// Lstat implements experimental/sys.FS.
func (m *mount) Lstat(name string) (sys.Stat_t, experimentalsys.Errno) {
	return stat(m.root.Lstat(local(name)))
}

func stat(info fs.FileInfo, err error) (sys.Stat_t, experimentalsys.Errno) {
	if err != nil {
		return sys.Stat_t{}, errno(err)
	}
	return sys.NewStat_t(info), 0
}

// Readlink implements experimental/sys.FS.
func (m *mount) Readlink(name string) (string, experimentalsys.Errno) {
	target, err := m.root.Readlink(local(name))
	return target, errno(err)
}

// write runs f where the mount is writable.
func (m *mount) write(f func() error) experimentalsys.Errno {
	if !m.writable {
		return experimentalsys.EROFS
	}
	return errno(f())
}

// Mkdir implements experimental/sys.FS.
func (m *mount) Mkdir(name string, _ fs.FileMode) experimentalsys.Errno {
	return m.write(func() error { return m.root.Mkdir(local(name), 0o777) })
}

// Rename implements experimental/sys.FS.
func (m *mount) Rename(from, to string) experimentalsys.Errno {
	return m.write(func() error { return m.root.Rename(local(from), local(to)) })
}

// Rmdir implements experimental/sys.FS.
func (m *mount) Rmdir(name string) experimentalsys.Errno {
	return m.remove(name, true)
}

// Unlink implements experimental/sys.FS.
func (m *mount) Unlink(name string) experimentalsys.Errno {
	return m.remove(name, false)
}

func (m *mount) remove(name string, dir bool) experimentalsys.Errno {
	if !m.writable {
		return experimentalsys.EROFS
	}
	name = local(name)
	info, err := m.root.Lstat(name)
	switch {
	case err != nil:
		return errno(err)
	case dir && !info.IsDir():
		return experimentalsys.ENOTDIR
	case !dir && info.IsDir():
		return experimentalsys.EISDIR
	}
	return errno(m.root.Remove(name))
}

// Utimens implements experimental/sys.FS.
func (m *mount) Utimens(name string, atim, mtim int64) experimentalsys.Errno {
	return m.write(func() error {
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
