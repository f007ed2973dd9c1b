// Package experimentalsys names what the file systems of the host take from wazero's
// package of experimental file systems.
package experimentalsys

import "github.com/tetratelabs/wazero/experimental/sys"

type (
	// FS is a file system that a guest sees.
	FS = sys.FS
	// File is an open file of an FS.
	File = sys.File
	// Dirent is an entry of a directory.
	Dirent = sys.Dirent
	// Oflag says how a file is opened.
	Oflag = sys.Oflag
	// Errno is the number of an error, 0 for none.
	Errno = sys.Errno
	// UnimplementedFS is an FS that refuses everything.
	UnimplementedFS = sys.UnimplementedFS
	// UnimplementedFile is a File that refuses everything.
	UnimplementedFile = sys.UnimplementedFile
)

// How files are opened.
const (
	O_RDONLY    = sys.O_RDONLY
	O_RDWR      = sys.O_RDWR
	O_WRONLY    = sys.O_WRONLY
	O_APPEND    = sys.O_APPEND
	O_CREAT     = sys.O_CREAT
	O_DIRECTORY = sys.O_DIRECTORY
	O_EXCL      = sys.O_EXCL
	O_NOFOLLOW  = sys.O_NOFOLLOW
	O_SYNC      = sys.O_SYNC
	O_TRUNC     = sys.O_TRUNC
)

// UTIME_OMIT leaves a time of a file as it is.
const UTIME_OMIT = sys.UTIME_OMIT

// The errors that the host returns.
const (
	EACCES  = sys.EACCES
	EBADF   = sys.EBADF
	EINVAL  = sys.EINVAL
	EIO     = sys.EIO
	EISDIR  = sys.EISDIR
	ELOOP   = sys.ELOOP
	ENOENT  = sys.ENOENT
	ENOSYS  = sys.ENOSYS
	ENOTDIR = sys.ENOTDIR
	EPERM   = sys.EPERM
	EROFS   = sys.EROFS
)

// UnwrapOSError is the number of an error of the system.
func UnwrapOSError(err error) Errno { return sys.UnwrapOSError(err) }
