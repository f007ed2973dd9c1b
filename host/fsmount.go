package host

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"time"

	"github.com/tetratelabs/wazero/sys"

	"github.com/anchor-host/anchor-host/host/internal/wazerox/experimentalsys"
)

// givenMount is a file system of the embedder as a guest sees it: regular files and
// directories, to be read. wazero calls it within the time of a call, and nothing that the
// embedder's code may keep is memory of the guest.
type givenMount struct {
	experimentalsys.UnimplementedFS
	files fs.FS
	in    *wasi
	// open are the open files of the plugin.
	open *fileBudget
}

const givenName = "file system of a mount"

// ask runs f, which calls the file system, for the call that runs.
func ask[T any](in *wasi, f func() (T, error)) (T, experimentalsys.Errno) {
	v, err := beside(&in.state, givenName, func(context.Context) (T, error) { return f() }, nil)
	return v, givenErrno(err)
}

// givenErrno is the error number of an error of the embedder's file system.
func givenErrno(err error) experimentalsys.Errno {
	switch {
	case err == nil, errors.Is(err, io.EOF):
		return 0
	case errors.Is(err, fs.ErrNotExist):
		return experimentalsys.ENOENT
	case errors.Is(err, fs.ErrPermission):
		return experimentalsys.EACCES
	case errors.Is(err, fs.ErrInvalid):
		return experimentalsys.EINVAL
	case errors.Is(err, fs.ErrClosed):
		return experimentalsys.EBADF
	}
	return experimentalsys.EIO
}

// given is the name of a guest's path in a file system of the embedder, if it has one.
func given(name string) (string, experimentalsys.Errno) {
	if name = local(name); !fs.ValidPath(name) {
		return "", experimentalsys.EINVAL
	}
	return name, 0
}

// OpenFile implements experimental/sys.FS.
func (m *givenMount) OpenFile(name string, flag experimentalsys.Oflag, _ fs.FileMode) (experimentalsys.File, experimentalsys.Errno) {
	const writes = experimentalsys.O_RDWR | experimentalsys.O_WRONLY | experimentalsys.O_APPEND |
		experimentalsys.O_CREAT | experimentalsys.O_TRUNC
	if flag&writes != 0 {
		return nil, experimentalsys.EROFS
	}
	name, errno := given(name)
	if errno != 0 {
		return nil, errno
	}
	if err := m.open.take(); err != nil {
		m.in.errno = wasiMfile
		if errors.Is(err, errProcessFiles) {
			m.in.errno = wasiNfile
		}
		return nil, experimentalsys.EIO
	}
	o, errno := m.openFile(name)
	if errno == 0 && !o.dir && flag&experimentalsys.O_DIRECTORY != 0 {
		closeGiven(m.in, o.file)
		errno = experimentalsys.ENOTDIR
	}
	if errno != 0 {
		m.open.give()
		return nil, errno
	}
	m.in.live++
	return &givenFile{mount: m, name: name, file: o.file, dir: o.dir}, 0
}

// openedFile is a file, or a directory.
type openedFile struct {
	file fs.File
	dir  bool
}

// openFile opens a regular file or a directory.
func (m *givenMount) openFile(name string) (openedFile, experimentalsys.Errno) {
	files := m.files
	o, err := beside(&m.in.state, givenName, func(context.Context) (openedFile, error) { return openGiven(files, name) }, func(o openedFile) {
		if o.file != nil {
			_ = o.file.Close()
		}
	})
	return o, givenErrno(err)
}

func openGiven(files fs.FS, name string) (openedFile, error) {
	f, err := files.Open(name)
	if err != nil {
		return openedFile{}, err
	}
	info, err := f.Stat()
	if err == nil && !info.IsDir() && !info.Mode().IsRegular() {
		err = fs.ErrPermission
	}
	if err != nil {
		_ = f.Close()
		return openedFile{}, err
	}
	return openedFile{f, info.IsDir()}, nil
}

// closePatience is how long closing a file may take after the call's time, as when an
// instance is closed.
const closePatience = 100 * time.Millisecond

// closeGiven closes a file. Where that takes too long, nobody waits for it, nor for further
// files of an instance that is being closed. The file was only read, so its error says
// nothing; wazero would keep the descriptor for it.
func closeGiven(in *wasi, f fs.File) {
	ctx, cancel := in.state.context()
	over := clock() >= in.state.deadline
	if over {
		cancel()
		patience := closePatience
		if in.hurried {
			patience = 0
		}
		ctx, cancel = context.WithTimeout(context.Background(), patience)
	}
	_, err := besideFor(ctx, cancel, in.plugin, givenName, func(context.Context) (struct{}, error) { return struct{}{}, f.Close() }, nil)
	in.hurried = in.hurried || over && errors.Is(err, errNotInTime)
}

// Stat implements experimental/sys.FS.
func (m *givenMount) Stat(name string) (sys.Stat_t, experimentalsys.Errno) {
	return m.stat(name, fs.Stat)
}

// Lstat implements experimental/sys.FS.
func (m *givenMount) Lstat(name string) (sys.Stat_t, experimentalsys.Errno) {
	return m.stat(name, fs.Lstat)
}

func (m *givenMount) stat(name string, of func(fs.FS, string) (fs.FileInfo, error)) (sys.Stat_t, experimentalsys.Errno) {
	name, errno := given(name)
	if errno != 0 {
		return sys.Stat_t{}, errno
	}
	files := m.files
	return ask(m.in, func() (sys.Stat_t, error) { return statGiven(of(files, name)) })
}

// statGiven reads what the embedder's code says of a file.
func statGiven(info fs.FileInfo, err error) (sys.Stat_t, error) {
	if err != nil {
		return sys.Stat_t{}, err
	}
	return sys.NewStat_t(info), nil
}

// Readlink implements experimental/sys.FS.
func (m *givenMount) Readlink(name string) (string, experimentalsys.Errno) {
	name, errno := given(name)
	if errno != 0 {
		return "", errno
	}
	files := m.files
	return ask(m.in, func() (string, error) { return fs.ReadLink(files, name) })
}

// Mkdir implements experimental/sys.FS.
func (*givenMount) Mkdir(string, fs.FileMode) experimentalsys.Errno { return experimentalsys.EROFS }

// Chmod implements experimental/sys.FS.
func (*givenMount) Chmod(string, fs.FileMode) experimentalsys.Errno { return experimentalsys.EROFS }

// Rename implements experimental/sys.FS.
func (*givenMount) Rename(string, string) experimentalsys.Errno { return experimentalsys.EROFS }

// Rmdir implements experimental/sys.FS.
func (*givenMount) Rmdir(string) experimentalsys.Errno { return experimentalsys.EROFS }

// Unlink implements experimental/sys.FS.
func (*givenMount) Unlink(string) experimentalsys.Errno { return experimentalsys.EROFS }

// Utimens implements experimental/sys.FS.
func (*givenMount) Utimens(string, int64, int64) experimentalsys.Errno { return experimentalsys.EROFS }

// givenFile is a file or directory of such a mount that a guest has opened. It belongs to
// one instance, so to one goroutine at a time.
type givenFile struct {
	experimentalsys.UnimplementedFile
	mount  *givenMount
	name   string
	file   fs.File
	closed bool
	dir    bool
	// spent says that a call that was left behind has the file, and closes it.
	spent bool
}

// onFile runs f with the file, unless a call that was left behind has it.
func onFile[T any](g *givenFile, f func(fs.File) (T, error)) (v T, errno experimentalsys.Errno) {
	if g.closed || g.spent {
		return v, experimentalsys.EBADF
	}
	file := g.file
	v, err := beside(&g.mount.in.state, givenName, func(context.Context) (T, error) { return f(file) }, func(T) { _ = file.Close() })
	if g.spent = errors.Is(err, errNotInTime); g.spent {
		g.mount.in.leftBehind = true
	}
	return v, givenErrno(err)
}

// IsDir implements experimental/sys.File.
func (g *givenFile) IsDir() (bool, experimentalsys.Errno) { return g.dir, 0 }

// Stat implements experimental/sys.File.
func (g *givenFile) Stat() (sys.Stat_t, experimentalsys.Errno) {
	return onFile(g, func(f fs.File) (sys.Stat_t, error) { return statGiven(f.Stat()) })
}

// Read implements experimental/sys.File.
func (g *givenFile) Read(b []byte) (int, experimentalsys.Errno) {
	return g.read(b, func(f fs.File, b []byte) (int, error) { return f.Read(b) })
}

// Pread implements experimental/sys.File.
func (g *givenFile) Pread(b []byte, off int64) (int, experimentalsys.Errno) {
	if off < 0 {
		return 0, experimentalsys.EINVAL
	}
	if _, ok := g.file.(io.ReaderAt); !ok && !g.dir {
		return 0, experimentalsys.ENOSYS
	}
	return g.read(b, func(f fs.File, b []byte) (int, error) { return f.(io.ReaderAt).ReadAt(b, off) })
}

// read reads into memory of the host first: what is left behind must not write to that of
// the guest.
func (g *givenFile) read(b []byte, from func(fs.File, []byte) (int, error)) (int, experimentalsys.Errno) {
	switch {
	case g.dir:
		return 0, experimentalsys.EISDIR
	case len(b) == 0:
		return 0, 0
	}
	n := len(portion(b))
	got, errno := onFile(g, func(f fs.File) ([]byte, error) {
		buf := make([]byte, n)
		n, err := from(f, buf)
		if n < 0 || n > len(buf) {
			return nil, fs.ErrInvalid
		}
		if n > 0 {
			err = nil // the next one finds it again
		}
		return buf[:n], err
	})
	return copy(b, got), errno
}

// Seek implements experimental/sys.File. A directory is begun anew.
func (g *givenFile) Seek(off offset, whence int) (offset, experimentalsys.Errno) {
	if !g.dir {
		if _, ok := g.file.(io.Seeker); !ok {
			return 0, experimentalsys.ENOSYS
		}
		return onFile(g, func(f fs.File) (int64, error) { return f.(io.Seeker).Seek(off, whence) })
	}
	if off != 0 || whence != io.SeekStart {
		return 0, experimentalsys.EINVAL
	}
	if g.closed || g.spent {
		return 0, experimentalsys.EBADF
	}
	o, errno := g.mount.openFile(g.name)
	if errno == 0 {
		closeGiven(g.mount.in, g.file)
		g.file = o.file
	}
	return 0, errno
}

// Readdir implements experimental/sys.File: regular files, directories and links, nothing
// else. Fewer than n entries mean the end, so what is left out must be made up for.
func (g *givenFile) Readdir(n int) ([]experimentalsys.Dirent, experimentalsys.Errno) {
	if _, ok := g.file.(fs.ReadDirFile); !ok || !g.dir {
		return nil, experimentalsys.EBADF
	}
	return onFile(g, func(f fs.File) ([]experimentalsys.Dirent, error) { return listEntries(f.(fs.ReadDirFile), n) })
}

// Close implements experimental/sys.File.
func (g *givenFile) Close() experimentalsys.Errno {
	if g.closed {
		return experimentalsys.EBADF
	}
	g.closed = true
	g.mount.open.give()
	g.mount.in.live--
	if !g.spent {
		closeGiven(g.mount.in, g.file)
	}
	return 0
}
