package mounts

import (
	"io"
	"io/fs"
	"time"

	"github.com/tetratelabs/wazero/sys"

	"github.com/anchor-host/anchor-host/host/internal/wazerox/experimentalsys"
)

// embedderFS is a file system of the embedder as one guest sees it: regular files and
// directories, to be read. wazero calls it within the time of a call. What the embedder's code
// may keep is never memory of the guest.
type embedderFS struct {
	experimentalsys.UnimplementedFS
	files fs.FS
	guest *Guest
	// budget counts the open files of the plugin.
	budget *Budget
}

// run runs f, which calls the file system, within the time of the call. If f is abandoned,
// late gets its value once it returns, unless late is nil. The value is zero if f failed.
func run[T any](g *Guest, f func() (T, error), late func(T)) (v T, abandoned bool, err error) {
	var after func(any)
	if late != nil {
		after = func(v any) {
			t, _ := v.(T)
			late(t)
		}
	}
	got, abandoned, err := g.call.Run(func() (any, error) { return f() }, after)
	v, _ = got.(T)
	return v, abandoned, err
}

// ask is run for a value that needs no care once it is late.
func ask[T any](g *Guest, f func() (T, error)) (T, experimentalsys.Errno) {
	v, _, err := run(g, f, nil)
	return v, embedderErrno(err)
}

// validName is the name of a guest's path in a file system of the embedder, if it has one.
func validName(name string) (string, experimentalsys.Errno) {
	if name = local(name); !fs.ValidPath(name) {
		return "", experimentalsys.EINVAL
	}
	return name, 0
}

func (m *embedderFS) OpenFile(name string, flag experimentalsys.Oflag, _ fs.FileMode) (experimentalsys.File, experimentalsys.Errno) {
	const writes = experimentalsys.O_RDWR | experimentalsys.O_WRONLY | experimentalsys.O_APPEND |
		experimentalsys.O_CREAT | experimentalsys.O_TRUNC
	if flag&writes != 0 {
		return nil, experimentalsys.EROFS
	}
	name, errno := validName(name)
	if errno != 0 {
		return nil, errno
	}
	if err := m.budget.Take(); err != nil {
		return nil, m.guest.refuse(err)
	}
	o, errno := m.openFile(name)
	if errno == 0 && !o.dir && flag&experimentalsys.O_DIRECTORY != 0 {
		closeFile(m.guest, o.file)
		errno = experimentalsys.ENOTDIR
	}
	if errno != 0 {
		m.budget.Give()
		return nil, errno
	}
	m.guest.open++
	return &embedderFile{fs: m, name: name, file: o.file, dir: o.dir}, 0
}

// openedFile is a file, or a directory.
type openedFile struct {
	file fs.File
	dir  bool
}

// openFile opens a regular file or a directory.
func (m *embedderFS) openFile(name string) (openedFile, experimentalsys.Errno) {
	files := m.files
	o, _, err := run(m.guest, func() (openedFile, error) { return openIn(files, name) }, func(o openedFile) {
		if o.file != nil {
			_ = o.file.Close()
		}
	})
	return o, embedderErrno(err)
}

func openIn(files fs.FS, name string) (openedFile, error) {
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

// closePatience is how long closing a file may take after the time of the call, as when an
// instance is closed.
const closePatience = 100 * time.Millisecond

// closeFile closes a file. If one took too long after the time of the call, nobody waits for
// further ones. The file was only read, so its error says nothing. wazero would keep the
// descriptor if it got the error.
func closeFile(g *Guest, f fs.File) {
	patience := closePatience
	if g.impatient {
		patience = 0
	}
	if g.call.Close(f.Close, patience) {
		g.impatient = true
	}
}

func (m *embedderFS) Stat(name string) (sys.Stat_t, experimentalsys.Errno) {
	return m.stat(name, fs.Stat)
}

func (m *embedderFS) Lstat(name string) (sys.Stat_t, experimentalsys.Errno) {
	return m.stat(name, fs.Lstat)
}

func (m *embedderFS) stat(name string, of func(fs.FS, string) (fs.FileInfo, error)) (sys.Stat_t, experimentalsys.Errno) {
	name, errno := validName(name)
	if errno != 0 {
		return sys.Stat_t{}, errno
	}
	files := m.files
	return ask(m.guest, func() (sys.Stat_t, error) { return statOf(of(files, name)) })
}

// statOf turns what the embedder says of a file into what wazero wants to know.
func statOf(info fs.FileInfo, err error) (sys.Stat_t, error) {
	if err != nil {
		return sys.Stat_t{}, err
	}
	return sys.NewStat_t(info), nil
}

func (m *embedderFS) Readlink(name string) (string, experimentalsys.Errno) {
	name, errno := validName(name)
	if errno != 0 {
		return "", errno
	}
	files := m.files
	return ask(m.guest, func() (string, error) { return fs.ReadLink(files, name) })
}

func (*embedderFS) Mkdir(string, fs.FileMode) experimentalsys.Errno { return experimentalsys.EROFS }

func (*embedderFS) Chmod(string, fs.FileMode) experimentalsys.Errno { return experimentalsys.EROFS }

func (*embedderFS) Rename(string, string) experimentalsys.Errno { return experimentalsys.EROFS }

func (*embedderFS) Rmdir(string) experimentalsys.Errno { return experimentalsys.EROFS }

func (*embedderFS) Unlink(string) experimentalsys.Errno { return experimentalsys.EROFS }

func (*embedderFS) Utimens(string, int64, int64) experimentalsys.Errno { return experimentalsys.EROFS }

// embedderFile is a file or directory of such a mount that a guest has opened. It belongs to
// one guest, so to one goroutine at a time.
type embedderFile struct {
	experimentalsys.UnimplementedFile
	fs     *embedderFS
	name   string
	file   fs.File
	closed bool
	dir    bool
	// abandoned says that a call that was abandoned has the file, and closes it.
	abandoned bool
}

// onFile runs f with the file, unless a call that was abandoned has it.
func onFile[T any](e *embedderFile, f func(fs.File) (T, error)) (v T, errno experimentalsys.Errno) {
	if e.closed || e.abandoned {
		return v, experimentalsys.EBADF
	}
	file := e.file
	v, abandoned, err := run(e.fs.guest, func() (T, error) { return f(file) }, func(T) { _ = file.Close() })
	if e.abandoned = abandoned; abandoned {
		e.fs.guest.abandoned = true
	}
	return v, embedderErrno(err)
}

func (e *embedderFile) IsDir() (bool, experimentalsys.Errno) { return e.dir, 0 }

func (e *embedderFile) Stat() (sys.Stat_t, experimentalsys.Errno) {
	return onFile(e, func(f fs.File) (sys.Stat_t, error) { return statOf(f.Stat()) })
}

func (e *embedderFile) Read(b []byte) (int, experimentalsys.Errno) {
	return e.read(b, func(f fs.File, b []byte) (int, error) { return f.Read(b) })
}

func (e *embedderFile) Pread(b []byte, off int64) (int, experimentalsys.Errno) {
	if off < 0 {
		return 0, experimentalsys.EINVAL
	}
	if _, ok := e.file.(io.ReaderAt); !ok && !e.dir {
		return 0, experimentalsys.ENOSYS
	}
	return e.read(b, func(f fs.File, b []byte) (int, error) { return f.(io.ReaderAt).ReadAt(b, off) })
}

// read reads into memory of the host first: a call that was abandoned must not write to the
// memory of the guest.
func (e *embedderFile) read(b []byte, from func(fs.File, []byte) (int, error)) (int, experimentalsys.Errno) {
	switch {
	case e.dir:
		return 0, experimentalsys.EISDIR
	case len(b) == 0:
		return 0, 0
	}
	n := len(portion(b))
	got, errno := onFile(e, func(f fs.File) ([]byte, error) {
		buf := make([]byte, n)
		n, err := from(f, buf)
		if n < 0 || n > len(buf) {
			return nil, fs.ErrInvalid
		}
		if n > 0 {
			err = nil // the next read meets it again
		}
		return buf[:n], err
	})
	return copy(b, got), errno
}

// Seek implements experimental/sys.File. A directory starts anew.
func (e *embedderFile) Seek(off offset, whence int) (offset, experimentalsys.Errno) {
	if !e.dir {
		if _, ok := e.file.(io.Seeker); !ok {
			return 0, experimentalsys.ENOSYS
		}
		return onFile(e, func(f fs.File) (int64, error) { return f.(io.Seeker).Seek(off, whence) })
	}
	if off != 0 || whence != io.SeekStart {
		return 0, experimentalsys.EINVAL
	}
	if e.closed || e.abandoned {
		return 0, experimentalsys.EBADF
	}
	o, errno := e.fs.openFile(e.name)
	if errno == 0 {
		closeFile(e.fs.guest, e.file)
		e.file = o.file
	}
	return 0, errno
}

// Readdir implements experimental/sys.File. Like folderFile.Readdir, it lists regular files,
// directories and links.
func (e *embedderFile) Readdir(n int) ([]experimentalsys.Dirent, experimentalsys.Errno) {
	if _, ok := e.file.(fs.ReadDirFile); !ok || !e.dir {
		return nil, experimentalsys.EBADF
	}
	return onFile(e, func(f fs.File) ([]experimentalsys.Dirent, error) { return listEntries(f.(fs.ReadDirFile), n) })
}

func (e *embedderFile) Close() experimentalsys.Errno {
	if e.closed {
		return experimentalsys.EBADF
	}
	e.closed = true
	e.fs.budget.Give()
	e.fs.guest.open--
	if !e.abandoned {
		closeFile(e.fs.guest, e.file)
	}
	return 0
}
