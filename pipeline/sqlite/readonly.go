package sqlite

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/anchor-host/anchor-host/store"
)

// errReadOnly is the error of a call that would write to a store that was opened with ReadOnly.
var errReadOnly = fmt.Errorf("%w: opened read-only", store.ErrReadOnly)

// openReadOnly opens the first reader of a store that has no writer.
func (s *Store) openReadOnly() (err error) {
	if s.file, err = os.Stat(s.path); err != nil {
		return fileError(err)
	}
	if !s.file.Mode().IsRegular() {
		return fmt.Errorf("%w: not a regular file (name a file)", store.ErrInvalid)
	}
	s.uri = fileURI(s.path) + "?mode=ro"
	if unlogged(s.path) {
		// The last process that closed the store has copied the log into the file. Without
		// immutable, SQLite would create a log to read it, which needs permission and room.
		s.uri += "&immutable=1"
	}
	c, err := s.openReader()
	if err != nil {
		return translate(err)
	}
	if err := readable(c); err != nil {
		_ = c.close() // the first error says it all
		return translate(err)
	}
	<-s.readers.free
	s.readers.put(c)
	return nil
}

// leastIndex is the smallest size in bytes of the index of a log that a process uses.
const leastIndex = 32 << 10

// unlogged reports whether a store has no log: there is no such file, or there is an empty
// one without an index, which a failed attempt on a full disk has left.
func unlogged(path string) bool {
	log, err := os.Stat(path + "-wal")
	if err != nil {
		return errors.Is(err, fs.ErrNotExist)
	}
	index, err := os.Stat(path + "-shm")
	return log.Size() == 0 && (errors.Is(err, fs.ErrNotExist) || err == nil && index.Size() < leastIndex)
}

// readable refuses files of other programs, and files with an older schema, because updating
// the schema requires writing.
func readable(c *conn) error {
	if err := identify(c); err != nil {
		return err
	}
	v, err := version(c)
	if err == nil && v < len(migrations) {
		err = fmt.Errorf("%w: schema %d is not up to date (open the store once where it can be written)", store.ErrReadOnly, v)
	}
	return err
}

// Schema returns the version of the schema of the file.
func (s *Store) Schema(ctx context.Context) (int, error) {
	c, err := s.acquire(ctx)
	if err != nil {
		return 0, s.fail(err, "read the schema version")
	}
	v, err := version(c)
	s.release(c, err)
	if err != nil {
		return 0, s.fail(err, "read the schema version")
	}
	return v, nil
}
