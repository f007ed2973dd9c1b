package mounts

import (
	"errors"
	"io"
	"io/fs"
	"math"
	"os"
	"syscall"

	"github.com/tetratelabs/wazero/sys"

	"github.com/anchor-host/anchor-host/host/internal/wazerox/experimentalsys"
)

// MaxTransfer is the most bytes that one call reads from a file or writes to one. More is
// done in part, as POSIX allows.
const MaxTransfer = 1 << 20

// folderFile is a regular file or directory that a guest has opened. It belongs to one guest,
// so one goroutine at a time uses it.
type folderFile struct {
	experimentalsys.UnimplementedFile
	mount *folderFS
	file  *os.File
	// id identifies the file in the account of the folder.
	id       fileID
	closed   bool
	dir      bool
	append   bool
	writable bool
}

func (m *folderFS) OpenFile(name string, flag experimentalsys.Oflag, perm fs.FileMode) (experimentalsys.File, experimentalsys.Errno) {
	const writes = experimentalsys.O_RDWR | experimentalsys.O_WRONLY | experimentalsys.O_APPEND |
		experimentalsys.O_CREAT | experimentalsys.O_TRUNC
	if flag&writes != 0 && !m.Writable {
		return nil, experimentalsys.EROFS
	}
	name = local(name)
	if info, err := m.root.Lstat(name); err == nil && flag&experimentalsys.O_NOFOLLOW != 0 && info.Mode()&fs.ModeSymlink != 0 {
		return nil, experimentalsys.ELOOP
	}
	opened := &folderFile{mount: m, append: flag&experimentalsys.O_APPEND != 0, writable: flag&writes != 0}
	if err := m.budget.Take(); err != nil {
		return nil, m.guest.refuse(err)
	}
	info, err := m.openFile(opened, name, osFlags(flag), perm&0o666)
	if err != nil {
		m.budget.Give()
		return nil, m.guest.refuse(err)
	}
	m.guest.open++
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
	return nil, errnoOf(err)
}

// openFile opens a file and counts it among the open files of the folder.
func (m *folderFS) openFile(f *folderFile, name string, flag int, perm fs.FileMode) (fs.FileInfo, error) {
	if m.account == nil {
		var err error
		if f.file, err = m.root.OpenFile(name, flag, perm); err != nil {
			return nil, err
		}
		return f.stat()
	}
	m.account.mu.Lock()
	defer m.account.mu.Unlock()
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
	f.id = m.account.opened(info)
	if flag&(os.O_CREATE|os.O_TRUNC) != 0 && info.Mode().IsRegular() {
		m.account.grow(info.Size()-fileSize(was), oneIf(was == nil))
	}
	return info, nil
}

// before returns what flag makes openFile create or empty, nil if there is nothing. If a
// new file will be made, the folder must have room for it.
func (m *folderFS) before(name string, flag int) (fs.FileInfo, error) {
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

func (f *folderFile) Dev() (uint64, experimentalsys.Errno) {
	st, errno := f.Stat()
	return st.Dev, errno
}

func (f *folderFile) Ino() (sys.Inode, experimentalsys.Errno) {
	st, errno := f.Stat()
	return st.Ino, errno
}

func (f *folderFile) IsDir() (bool, experimentalsys.Errno) { return f.dir, 0 }

func (f *folderFile) IsAppend() bool { return f.append }

func (f *folderFile) Stat() (sys.Stat_t, experimentalsys.Errno) { return stat(f.file.Stat()) }

// portion is the part of a buffer that one call serves. The guest calls again for the rest,
// as after every short read or write.
func portion(b []byte) []byte { return b[:min(len(b), MaxTransfer)] }

func (f *folderFile) Read(b []byte) (int, experimentalsys.Errno) {
	if f.dir {
		return 0, experimentalsys.EISDIR
	}
	if len(b) == 0 {
		return 0, 0
	}
	return done(f.file.Read(portion(b)))
}

func (f *folderFile) Pread(b []byte, off int64) (int, experimentalsys.Errno) {
	switch {
	case f.dir:
		return 0, experimentalsys.EISDIR
	case off < 0:
		return 0, experimentalsys.EINVAL
	case len(b) == 0:
		return 0, 0
	}
	return done(f.file.ReadAt(portion(b), off))
}

// done translates the result of a read or write. The end of a file is not an error.
func done(n int, err error) (int, experimentalsys.Errno) {
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return n, errnoOf(err)
}

// offset is an alias that keeps vet from taking Seek for the method of io.Seeker, which
// returns another type of error.
type offset = int64

func (f *folderFile) Seek(off offset, whence int) (offset, experimentalsys.Errno) {
	if f.dir && (off != 0 || whence != io.SeekStart) {
		return 0, experimentalsys.EINVAL
	}
	n, err := f.file.Seek(off, whence)
	return n, errnoOf(err)
}

// Readdir implements experimental/sys.File. It lists regular files, directories and links.
// If it returns fewer than n entries the directory has ended, so it reads on to replace
// entries that it leaves out.
func (f *folderFile) Readdir(n int) ([]experimentalsys.Dirent, experimentalsys.Errno) {
	if !f.dir {
		return nil, experimentalsys.EBADF
	}
	out, err := listEntries(f.file, n)
	return out, errnoOf(err)
}

// listEntries is Readdir for a directory of any file system.
func listEntries(dir fs.ReadDirFile, n int) ([]experimentalsys.Dirent, error) {
	var out []experimentalsys.Dirent
	for {
		want := n
		if n > 0 {
			want = n - len(out)
		}
		entries, err := dir.ReadDir(want)
		for _, e := range entries {
			if t := e.Type(); t == 0 || t == fs.ModeDir || t == fs.ModeSymlink {
				out = append(out, experimentalsys.Dirent{Name: e.Name(), Type: t})
			}
		}
		switch {
		case err != nil && !errors.Is(err, io.EOF):
			return nil, err
		case n <= 0 || len(out) == n || len(entries) == 0:
			return out, nil
		}
	}
}

func (f *folderFile) Write(b []byte) (n int, number experimentalsys.Errno) {
	b = portion(b)
	number = f.resize(func(size int64) (int64, error) {
		if f.append {
			return size + int64(len(b)), nil
		}
		at, err := f.file.Seek(0, io.SeekCurrent)
		return endOf(at, len(b)), err
	}, func() (err error) {
		n, err = f.file.Write(b)
		return err
	})
	return n, number
}

func (f *folderFile) Pwrite(b []byte, off int64) (n int, number experimentalsys.Errno) {
	if off < 0 {
		return 0, experimentalsys.EINVAL
	}
	b = portion(b)
	number = f.resize(func(int64) (int64, error) { return endOf(off, len(b)), nil }, func() (err error) {
		n, err = f.file.WriteAt(b, off)
		return err
	})
	return n, number
}

// endOf is where a write of n bytes ends. It is 0 for a write of nothing, which makes no
// file longer.
func endOf(at int64, n int) int64 {
	if n == 0 {
		return 0
	}
	return at + min(int64(n), math.MaxInt64-at)
}

func (f *folderFile) Truncate(size int64) experimentalsys.Errno {
	switch {
	case f.dir:
		return experimentalsys.EISDIR
	case size < 0:
		return experimentalsys.EINVAL
	}
	return f.resize(func(int64) (int64, error) { return size, nil }, func() error { return f.file.Truncate(size) })
}

// resize runs op, which writes to the file or truncates it, if the folder has room. end
// returns the size to which op may make the file grow, from its size before. The folder is
// charged for the difference of the sizes before and after, as other handles may write to
// the file too.
func (f *folderFile) resize(end func(size int64) (int64, error), op func() error) experimentalsys.Errno {
	if !f.writable {
		return experimentalsys.EBADF
	}
	return f.mount.change(func() error {
		was, err := f.file.Stat()
		if err != nil {
			return err
		}
		want, err := end(was.Size())
		if err != nil {
			return err
		}
		if err := f.mount.room(want-was.Size(), 0); err != nil {
			return err
		}
		err = op()
		if is, serr := f.file.Stat(); serr == nil {
			f.mount.account.grow(is.Size()-was.Size(), 0)
		}
		return err
	})
}

func (f *folderFile) Sync() experimentalsys.Errno {
	if !f.writable {
		return 0
	}
	return errnoOf(f.file.Sync())
}

func (f *folderFile) Datasync() experimentalsys.Errno { return f.Sync() }

// stat stats a file that was just opened, and closes the file on an error.
func (f *folderFile) stat() (fs.FileInfo, error) {
	info, err := f.file.Stat()
	if err != nil {
		_ = f.file.Close()
	}
	return info, err
}

func (f *folderFile) Close() experimentalsys.Errno {
	if f.closed {
		return experimentalsys.EBADF
	}
	f.closed = true
	f.mount.budget.Give()
	f.mount.guest.open--
	if a := f.mount.account; a != nil {
		a.mu.Lock()
		defer a.mu.Unlock()
		info, err := f.file.Stat()
		a.closed(f.id, info, err)
	}
	return errnoOf(f.file.Close())
}
