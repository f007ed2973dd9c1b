package mounts

import (
	"errors"
	"io"
	"io/fs"
	"strings"
	"syscall"

	"github.com/anchor-host/anchor-host/host/internal/wazerox/experimentalsys"
)

// Errno is an error number of WASI preview 1.
type Errno uint64

// The error numbers that wazero's own do not express.
const (
	// OK is the number of no error.
	OK Errno = 0
	// QuotaExceeded is EDQUOT: the folder has no room by its quota.
	QuotaExceeded Errno = 19
	// FileTooLarge is EFBIG.
	FileTooLarge Errno = 22
	// TooManyFiles is EMFILE: the plugin has too many files open.
	TooManyFiles Errno = 33
	// TooManyFilesOfAll is ENFILE: all plugins together have too many files open.
	TooManyFilesOfAll Errno = 41
	// NoSpace is ENOSPC: the disk is full.
	NoSpace Errno = 51
)

// errnoOf is the error number of an error. For an attempt to leave the mount, for which
// os.Root has no number, it is EPERM.
func errnoOf(err error) experimentalsys.Errno {
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

// embedderErrno is the error number of an error of a file system of the embedder.
func embedderErrno(err error) experimentalsys.Errno {
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
