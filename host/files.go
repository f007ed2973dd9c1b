package host

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/sys"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/host/internal/wazerox"
	"github.com/anchor-host/anchor-host/host/internal/wazerox/experimentalsys"
)

// ErrFolder marks a granted folder that cannot be opened. Unlike other errors that wrap
// ErrConfig, it may be gone the next time.
var ErrFolder = errors.New("folder cannot be opened")

// openMounts opens the directories of the grants. Every access goes through os.Root, so
// neither ".." nor a link leads out of them. They are closed with the plugin.
func (p *Plugin) openMounts(ctx context.Context) error {
	if features := p.host.cfg.featuresOf(p.host.engineKind(p.cfg.Engine)); !features.On(wazerox.Mounts) && len(p.granted.files) > 0 {
		return errors.New("grants.files: this host cannot mount directories (its feature mounts is off, see doctor)")
	}
	for _, g := range p.granted.files {
		at := slices.IndexFunc(p.cfg.Grants.Files, func(c FileGrant) bool { return c.Host == g.Host && c.Guest == g.Guest })
		m, err := p.openMount(ctx, g, fmt.Sprintf("grants.files[%d]", at))
		if err != nil {
			return err
		}
		p.mounts = append(p.mounts, m)
	}
	return nil
}

func (p *Plugin) openMount(ctx context.Context, g FileGrant, key string) (mount, error) {
	m := mount{guest: cleanGuest(g.Guest), key: key, writable: g.Mode == ModeRW, open: p.files,
		quota: pick(g.Quota, DefaultFolderQuota), most: int64(pick(g.MaxFiles, DefaultFolderFiles))}
	if g.FS != nil {
		m.given = g.FS
		return m, p.checkGiven(ctx, g.FS, key)
	}
	var err error
	if m.path, err = filepath.Abs(g.Host); err != nil {
		return m, as(ErrFolder, fmt.Errorf("%s.host: %w", key, err))
	}
	if !p.files.whole.take(1) {
		return m, as(ErrFolder, fmt.Errorf("%s.host: open %s: %w", key, g.Host, errProcessFiles))
	}
	if m.root, err = openFolder(g.Host); err == nil {
		m.info, err = m.root.Stat(".")
	}
	if err == nil && m.writable {
		m.folder, err = p.host.folders.enter(ctx, m.root, m.info, m.most)
	}
	if err != nil {
		p.closeMount(m)
		return m, as(ErrFolder, folderError(key, g.Host, cause(err)))
	}
	return m, nil
}

// checkGiven checks that the root of an embedder's file system is a directory, within the
// time of init.
func (p *Plugin) checkGiven(ctx context.Context, files fs.FS, key string) error {
	ctx, cancel := context.WithTimeout(ctx, p.limits.InitTimeout)
	_, err := besideFor(ctx, cancel, p, givenName, func(context.Context) (bool, error) {
		info, err := fs.Stat(files, ".")
		if err == nil && !info.IsDir() {
			err = errors.New("its root is not a directory")
		}
		return true, err
	}, nil)
	if err != nil {
		return as(ErrFolder, fmt.Errorf("%s.fs: open the root: %w", key, err))
	}
	return nil
}

// openFolder opens a directory as a root. The dot at the end makes the system refuse
// anything else at once. Without it, opening a pipe would wait for a writer.
func openFolder(name string) (*os.Root, error) {
	return os.OpenRoot(name + string(filepath.Separator) + ".")
}

// CheckFolder checks that the folder of a grant can be opened. key is where the grant is
// stated, such as grants.files[0], for the error. Errors wrap ErrFolder.
func CheckFolder(key, name string) error {
	root, err := openFolder(name)
	if err != nil {
		return as(ErrFolder, folderError(key, name, cause(err)))
	}
	_ = root.Close()
	return nil
}

// folderError is the error of the folder of a grant, with the remedy.
func folderError(key, name string, err error) error {
	info, statErr := os.Stat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return as(err, fmt.Errorf("%s.host: %s does not exist (create it or mend the path)", key, name))
	case statErr == nil && !info.IsDir():
		return as(err, fmt.Errorf("%s.host: %s is not a directory (name a folder)", key, name))
	}
	return fmt.Errorf("%s.host: open %s: %w (the folder must be readable)", key, name, err)
}

// checkFolders fails if a granted folder is gone, or another has taken its place, since the
// plugin was loaded. The plugin would see another folder than its operator does.
func (p *Plugin) checkFolders() error {
	for i := range p.mounts {
		m := &p.mounts[i]
		if m.given != nil {
			continue
		}
		info, err := os.Stat(m.path)
		if err == nil && os.SameFile(info, m.info) {
			continue
		}
		f := &fault{code: abi.ReasonDenied, remedy: "load the plugin again, or bring the folder back"}
		if f.err = fmt.Errorf("%s.host: %s is not the folder that was there when the plugin was loaded", m.key, m.path); err != nil {
			f.err = fmt.Errorf("%s.host: %s is gone: %w", m.key, m.path, cause(err))
		}
		f.err = as(ErrFolder, f.err)
		return f
	}
	return nil
}

func (p *Plugin) closeMounts() {
	for _, m := range p.mounts {
		p.closeMount(m)
	}
}

func (p *Plugin) closeMount(m mount) {
	if m.given != nil {
		return
	}
	p.files.whole.give(1)
	if m.folder != nil {
		p.host.folders.leave(m.folder)
	}
	if m.root != nil {
		_ = m.root.Close() // closing a directory loses nothing
	}
}

// fsConfig makes the mounts available to one instance.
func fsConfig(mounts []mount, in *wasi) wazero.FSConfig {
	cfg := wazero.NewFSConfig()
	for _, m := range mounts {
		if m.given != nil {
			cfg = wazerox.Mount(cfg, &givenMount{files: m.given, in: in, open: m.open}, m.guest)
			continue
		}
		m.in = in
		cfg = wazerox.Mount(cfg, &m, m.guest)
	}
	return cfg
}

// openRegular opens a regular file for reading. It does not wait for the writer of a pipe,
// and does not open a device.
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

// mount is one directory of the host as a guest sees it: regular files and directories
// only.
type mount struct {
	experimentalsys.UnimplementedFS
	root  *os.Root
	guest string
	// given is a file system of the embedder, nil for a directory; see givenMount.
	given fs.FS
	// key is where the grant is stated. path and info are the folder that it named when the
	// plugin was loaded.
	key, path string
	info      fs.FileInfo
	writable  bool
	// folder is what the folder holds, nil unless writable. quota and most bound its bytes
	// and its files.
	folder      *folder
	quota, most int64
	// in is the instance that sees the mount.
	in *wasi
	// open counts the open files of the plugin, of all its mounts and instances.
	open *fileBudget
}

// local turns a guest's path into a path relative to the root.
func local(name string) string {
	name = path.Clean("/" + name)[1:]
	if name == "" {
		return "."
	}
	return name
}

// errno is the error number of an error. For an attempt to leave the mount, for which
// os.Root has no number, it is EPERM.
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

// errno is the error number of an error. If wazero has no name for the number, it reaches
// the guest through in.errno instead.
func (m *mount) errno(err error) experimentalsys.Errno {
	if err == nil {
		return 0
	}
	for _, known := range []struct {
		err error
		no  wasiErrno
	}{
		{errPluginFiles, wasiMfile}, {errProcessFiles, wasiNfile}, {errFolderFull, wasiDquot},
		{syscall.EMFILE, wasiMfile}, {syscall.ENFILE, wasiNfile}, {syscall.EDQUOT, wasiDquot}, {syscall.ENOSPC, wasiNospc}, {syscall.EFBIG, wasiFbig},
	} {
		if errors.Is(err, known.err) {
			m.in.errno = known.no
			return experimentalsys.EIO
		}
	}
	return errno(err)
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
	opened := &mountedFile{mount: m, append: flag&experimentalsys.O_APPEND != 0, writable: flag&writes != 0}
	if err := m.open.take(); err != nil {
		return nil, m.errno(err)
	}
	info, err := m.openFile(opened, name, osFlags(flag), perm&0o666)
	if err != nil {
		m.open.give()
		return nil, m.errno(err)
	}
	m.in.live++
	switch {
	case !info.IsDir() && !info.Mode().IsRegular():
		err = fs.ErrPermission
	case !info.IsDir() && flag&experimentalsys.O_DIRECTORY != 0:
		err = syscall.ENOTDIR
	default:
		opened.dir = info.IsDir()
		return opened, 0
	}
	_ = opened.Close()
	return nil, errno(err)
}

// openFile opens a file and counts it among the open files of the folder.
func (m *mount) openFile(f *mountedFile, name string, flag int, perm fs.FileMode) (fs.FileInfo, error) {
	if m.folder == nil {
		var err error
		if f.file, err = m.root.OpenFile(name, flag, perm); err != nil {
			return nil, err
		}
		return f.stat()
	}
	m.folder.mu.Lock()
	defer m.folder.mu.Unlock()
	was, err := m.before(name, flag)
	if err != nil {
		return nil, err
	}
	if f.file, err = m.root.OpenFile(name, flag, perm); err != nil {
		return nil, err
	}
	info, err := f.stat()
	if err != nil {
		return nil, err
	}
	f.id = m.folder.opened(info)
	if flag&(os.O_CREATE|os.O_TRUNC) != 0 && info.Mode().IsRegular() {
		m.folder.grow(info.Size()-fileSize(was), oneIf(was == nil))
	}
	return info, nil
}

// before returns what flag makes openFile create or empty, nil if there is nothing. If a
// new file will be made, the folder must have room for it.
func (m *mount) before(name string, flag int) (fs.FileInfo, error) {
	if flag&(os.O_CREATE|os.O_TRUNC) == 0 {
		return nil, nil
	}
	was, err := m.root.Stat(name)
	if err == nil {
		return was, nil
	}
	if flag&os.O_CREATE != 0 {
		return nil, m.room(0, 1)
	}
	return nil, nil
}

// osFlags translates flags of open. O_NONBLOCK keeps a pipe from blocking the host.
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

// change runs f if the mount is writable, with the folder locked.
func (m *mount) change(f func() error) experimentalsys.Errno {
	if !m.writable {
		return experimentalsys.EROFS
	}
	m.folder.mu.Lock()
	defer m.folder.mu.Unlock()
	return m.errno(f())
}

// Mkdir implements experimental/sys.FS.
func (m *mount) Mkdir(name string, _ fs.FileMode) experimentalsys.Errno {
	return m.change(func() error {
		if err := m.room(0, 1); err != nil {
			return err
		}
		err := m.root.Mkdir(local(name), 0o777)
		if err == nil {
			m.folder.grow(0, 1)
		}
		return err
	})
}

// Rename implements experimental/sys.FS. The folder gets back the room of what is replaced.
func (m *mount) Rename(from, to string) experimentalsys.Errno {
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
			m.folder.removed(replaced)
		}
		return nil
	})
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
		m.folder.removed(info)
		return nil
	})
}

// Utimens implements experimental/sys.FS.
func (m *mount) Utimens(name string, atim, mtim int64) experimentalsys.Errno {
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
