package host

import (
	"errors"
	"io"
	"io/fs"
	"math"
	"os"

	"github.com/tetratelabs/wazero/sys"

	"github.com/anchor-host/anchor-host/host/internal/wazerox/experimentalsys"
)

// mountedFile is a regular file or directory that a guest has opened. It belongs to one
// instance, so one goroutine at a time uses it.
type mountedFile struct {
	experimentalsys.UnimplementedFile
	mount *mount
	file  *os.File
	// id identifies the file in what is known of the folder.
	id       fileID
	closed   bool
	dir      bool
	append   bool
	writable bool
}

// Dev implements experimental/sys.File.
func (f *mountedFile) Dev() (uint64, experimentalsys.Errno) {
	st, errno := f.Stat()
	return st.Dev, errno
}

// Ino implements experimental/sys.File.
func (f *mountedFile) Ino() (sys.Inode, experimentalsys.Errno) {
	st, errno := f.Stat()
	return st.Ino, errno
}

// IsDir implements experimental/sys.File.
func (f *mountedFile) IsDir() (bool, experimentalsys.Errno) { return f.dir, 0 }

// IsAppend implements experimental/sys.File.
func (f *mountedFile) IsAppend() bool { return f.append }

// Stat implements experimental/sys.File.
func (f *mountedFile) Stat() (sys.Stat_t, experimentalsys.Errno) { return stat(f.file.Stat()) }

// portion is the part of a buffer that one call serves. The guest calls again for the rest,
// as after every short read or write.
func portion(b []byte) []byte { return b[:min(len(b), maxTransfer)] }

// Read implements experimental/sys.File.
func (f *mountedFile) Read(b []byte) (int, experimentalsys.Errno) {
	if f.dir {
		return 0, experimentalsys.EISDIR
	}
	if len(b) == 0 {
		return 0, 0
	}
	return done(f.file.Read(portion(b)))
}

// Pread implements experimental/sys.File.
func (f *mountedFile) Pread(b []byte, off int64) (int, experimentalsys.Errno) {
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
	return n, errno(err)
}

// offset is an alias that keeps vet from taking Seek for the method of io.Seeker, which
// returns another type of error.
type offset = int64

// Seek implements experimental/sys.File.
func (f *mountedFile) Seek(off offset, whence int) (offset, experimentalsys.Errno) {
	if f.dir && (off != 0 || whence != io.SeekStart) {
		return 0, experimentalsys.EINVAL
	}
	n, err := f.file.Seek(off, whence)
	return n, errno(err)
}

// Readdir implements experimental/sys.File. It lists regular files, directories and links.
// If it returns fewer than n entries the directory has ended, so it reads on to replace
// entries that it leaves out.
func (f *mountedFile) Readdir(n int) ([]experimentalsys.Dirent, experimentalsys.Errno) {
	if !f.dir {
		return nil, experimentalsys.EBADF
	}
	out, err := listEntries(f.file, n)
	return out, errno(err)
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

// Write implements experimental/sys.File.
func (f *mountedFile) Write(b []byte) (n int, number experimentalsys.Errno) {
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

// Pwrite implements experimental/sys.File.
func (f *mountedFile) Pwrite(b []byte, off int64) (n int, number experimentalsys.Errno) {
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

// Truncate implements experimental/sys.File.
func (f *mountedFile) Truncate(size int64) experimentalsys.Errno {
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
func (f *mountedFile) resize(end func(size int64) (int64, error), op func() error) experimentalsys.Errno {
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
			f.mount.folder.grow(is.Size()-was.Size(), 0)
		}
		return err
	})
}

// Sync implements experimental/sys.File.
func (f *mountedFile) Sync() experimentalsys.Errno {
	if !f.writable {
		return 0
	}
	return errno(f.file.Sync())
}

// Datasync implements experimental/sys.File.
func (f *mountedFile) Datasync() experimentalsys.Errno { return f.Sync() }

// stat stats a file that was just opened, and closes the file on an error.
func (f *mountedFile) stat() (fs.FileInfo, error) {
	info, err := f.file.Stat()
	if err != nil {
		_ = f.file.Close()
	}
	return info, err
}

// Close implements experimental/sys.File.
func (f *mountedFile) Close() experimentalsys.Errno {
	if f.closed {
		return experimentalsys.EBADF
	}
	f.closed = true
	f.mount.open.give()
	f.mount.in.live--
	if d := f.mount.folder; d != nil {
		d.mu.Lock()
		defer d.mu.Unlock()
		info, err := f.file.Stat()
		d.closed(f.id, info, err)
	}
	return errno(f.file.Close())
}
