package sqlite

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"syscall"

	"modernc.org/sqlite"
	lib "modernc.org/sqlite/lib"

	"github.com/anchor-host/anchor-host/internal/observe"
	"github.com/anchor-host/anchor-host/store"
)

// fault is the meaning of an SQLite error for a caller, and its remedy.
type fault struct {
	is     error
	remedy string
}

// faults has the faults by primary result code.
var faults = map[int]fault{
	lib.SQLITE_BUSY:     {store.ErrBusy, "another process writes; try again, or raise the busy timeout"},
	lib.SQLITE_LOCKED:   {store.ErrBusy, "another process writes; try again, or raise the busy timeout"},
	lib.SQLITE_FULL:     {store.ErrFull, "make room on the disk and try again"},
	lib.SQLITE_CORRUPT:  {store.ErrCorrupt, "restore a backup, or import an export into a new file"},
	lib.SQLITE_NOTADB:   {store.ErrCorrupt, "this is not a store; name another file, or restore a backup"},
	lib.SQLITE_READONLY: {store.ErrReadOnly, "make the file and its directory writable"},
	lib.SQLITE_PERM:     {store.ErrReadOnly, "make the file and its directory writable"},
	lib.SQLITE_CANTOPEN: {store.ErrReadOnly, "make the file and its directory writable"},
	lib.SQLITE_IOERR:    {nil, "check the disk: room, quota, health"},
	lib.SQLITE_NOMEM:    {nil, "make memory available"},
}

// code returns the extended result code of an SQLite error, or 0.
func code(err error) int {
	if e, ok := errors.AsType[*sqlite.Error](err); ok {
		return e.Code()
	}
	return 0
}

// primary returns the primary result code of an SQLite error.
func primary(err error) int { return code(err) & 0xff }

// translate wraps an SQLite error with its meaning and its remedy.
func translate(err error) error {
	f, ok := faults[primary(err)]
	if code(err) == lib.SQLITE_IOERR_SHMSIZE { // the index of the log cannot be made larger
		f = faults[lib.SQLITE_FULL]
	}
	switch {
	case !ok:
		return err
	case f.is == nil:
		return fmt.Errorf("%w (%s)", err, f.remedy)
	}
	return fmt.Errorf("%w: %w (%s)", f.is, err, f.remedy)
}

// failure is an error of a store with its file and what was done.
type failure struct {
	path, what string
	err        error
}

// Error names the file, what was done and the cause.
func (f *failure) Error() string { return fmt.Sprintf("%s: %v", f.at(f.path), f.err) }

func (f *failure) Unwrap() error { return f.err }

// Public says the same without the file and the words of SQLite.
func (f *failure) Public() string {
	cause := observe.Public(f.err)
	if c := primary(f.err); c != 0 {
		if cause = "it fails"; faults[c].is != nil {
			cause = faults[c].is.Error()
		}
	}
	return fmt.Sprintf("%s: %s", f.at(""), cause)
}

// at says what was done with the file of a path.
func (f *failure) at(path string) string {
	store := strings.TrimSpace("store " + path)
	if f.what == "open" || f.what == "close" {
		return f.what + " " + store
	}
	return store + ": " + f.what
}

// fileError wraps an error of the file system with its meaning and its remedy.
func fileError(err error) error {
	switch {
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS):
		return fmt.Errorf("%w: %w (make the file and its directory writable)", store.ErrReadOnly, err)
	case errors.Is(err, syscall.ENOSPC):
		return fmt.Errorf("%w: %w (make room on the disk and try again)", store.ErrFull, err)
	}
	return err
}
