package sqlite

import (
	"cmp"
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/anchor-host/anchor-host/store"
)

// unfinished is added to the name of a file while its content is written.
const unfinished = "-part"

// Copy describes the file of a store.
type Copy struct {
	// Bytes is the size of the file, without its log.
	Bytes int64
	// Schema is the version of its schema.
	Schema int
	// Records is the number of its records. Collections do not count.
	Records int64
}

// Backup copies the store at path into a new file, as it is at one moment. Other processes may
// use the store at the same time, and neither wait nor change the copy. The schema stays as it
// is. The copy is one file, which has no space left by deleted records and which only its owner
// can access. Its structure and all its records have been checked, and it is synced to the disk.
//
// The log of the store keeps what is written during a backup, so it grows for so long. The error
// wraps [fs.ErrExist] if there is such a file, and [store.ErrCorrupt] if the store is damaged.
// After an error there is no new file.
func Backup(ctx context.Context, path, file string) (c Copy, err error) {
	if path, file, err = absolute(path, file); err == nil {
		c, err = makeCopy(ctx, file, func(part string) error { return vacuumInto(ctx, path, part) })
	}
	if err != nil {
		return Copy{}, fmt.Errorf("back up store %s to %s: %w", path, file, translate(err))
	}
	return c, nil
}

// Restore makes the store at path of a file that [Backup] has made. There must be no store at
// path, and no log of one, which would damage the new store. The backup is checked first, and
// stays as it is.
//
// The error wraps [fs.ErrExist] if there is a file in the way, [store.ErrCorrupt] if the backup is
// damaged, and [store.ErrVersion] if a newer program has made it. After an error there is no new
// file.
func Restore(ctx context.Context, file, path string) (c Copy, err error) {
	if file, path, err = absolute(file, path); err == nil {
		c, err = restore(ctx, file, path)
	}
	if err != nil {
		return Copy{}, fmt.Errorf("restore %s from %s: %w", path, file, translate(err))
	}
	return c, nil
}

func restore(ctx context.Context, file, path string) (Copy, error) {
	for _, suffix := range []string{"", "-wal", "-shm"} {
		if err := absent(path + suffix); err != nil {
			return Copy{}, fmt.Errorf("%w (end the programs that use the store, and move away %s and, where they exist, the files with -wal and -shm at the end)", err, filepath.Base(path))
		}
	}
	if !unlogged(file) {
		return Copy{}, fmt.Errorf("%w: it has a log, so it is a store in use and no backup (make one with store backup)", store.ErrInvalid)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return Copy{}, fileError(err)
	}
	return makeCopy(ctx, path, func(part string) error { return copyFile(ctx, file, part) })
}

// makeCopy writes a new file under another name, checks it, syncs it, and gives it its name.
func makeCopy(ctx context.Context, file string, write func(part string) error) (c Copy, err error) {
	if err := absent(file); err != nil {
		return Copy{}, fmt.Errorf("%w (name another file)", err)
	}
	part := file + unfinished
	// SQLite writes into an empty file and keeps its mode.
	f, err := os.OpenFile(part, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return Copy{}, fmt.Errorf("%w (another program writes it, or has left it: remove it)", err)
	}
	if err != nil {
		return Copy{}, fileError(err)
	}
	if err := f.Close(); err != nil {
		return Copy{}, fileError(err)
	}
	defer func() { _ = os.Remove(part) }() // it has its name by then, or is of no use
	if err := write(part); err != nil {
		return Copy{}, err
	}
	if c, err = examine(ctx, part); err != nil {
		return Copy{}, err
	}
	return c, publish(part, file)
}

// vacuumInto copies a store with a connection of its own, which changes nothing in the store and
// keeps the schema.
func vacuumInto(ctx context.Context, path, part string) (err error) {
	if err := regular(path); err != nil {
		return err
	}
	c, err := openConn(fileURI(path)+"?mode=rw", busyPragma(DefaultBusyTimeout), "trusted_schema = OFF", "cell_size_check = ON")
	if err != nil {
		return err
	}
	defer func() { err = cmp.Or(err, c.close()) }()
	if err := identify(c); err != nil {
		return err
	}
	if app, _, err := c.number("PRAGMA application_id"); err != nil || app != appID {
		return errors.Join(err, fmt.Errorf("%w: an empty database (name the file of a store)", store.ErrInvalid))
	}
	args := []driver.NamedValue{{Ordinal: 1, Value: part}}
	_, err = c.dc.(driver.ExecerContext).ExecContext(ctx, "VACUUM INTO ?", args)
	if err != nil && ctx.Err() != nil {
		return ctx.Err() // the driver says "interrupted"
	}
	return err
}

// copyFile copies a file into an existing one.
func copyFile(ctx context.Context, from, to string) (err error) {
	if err := regular(from); err != nil {
		return err
	}
	in, err := os.Open(from)
	if err != nil {
		return fileError(err)
	}
	defer func() { _ = in.Close() }() // it was only read
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return fileError(err)
	}
	defer func() {
		if closed := out.Close(); err == nil {
			err = fileError(closed)
		}
	}()
	for {
		_, err := io.CopyN(out, in, 8<<20)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fileError(err)
		}
		if err := ctx.Err(); err != nil {
			return err
		}
	}
}

// Examine reads all of the store in a file, or of a backup, and changes nothing. Its schema may be
// older than that of this program. The error wraps [store.ErrCorrupt] if the file is damaged, and
// [store.ErrVersion] if a newer program has written it. If the file is in use, other processes
// need not wait.
func Examine(ctx context.Context, file string) (c Copy, err error) {
	if file, _, err = absolute(file, file); err == nil {
		c, err = examine(ctx, file)
	}
	if err != nil {
		return Copy{}, fmt.Errorf("check store %s: %w", file, translate(err))
	}
	return c, nil
}

// absolute makes two paths absolute: SQLite takes relative ones that begin with "file:" for URIs.
func absolute(a, b string) (string, string, error) {
	if a == "" || b == "" {
		return a, b, fmt.Errorf("%w: no path", store.ErrInvalid)
	}
	first, err := filepath.Abs(a)
	second, err2 := filepath.Abs(b)
	return first, second, errors.Join(err, err2)
}

func examine(ctx context.Context, file string) (c Copy, err error) {
	if err := regular(file); err != nil {
		return Copy{}, err
	}
	s := &Store{path: file, uri: fileURI(file) + "?mode=ro", opts: Options{Readers: 1, BusyTimeout: DefaultBusyTimeout}, readers: newPool(1), closing: make(chan struct{})}
	if unlogged(file) {
		s.uri += "&immutable=1" // see openReadOnly
	}
	if s.file, err = os.Stat(file); err != nil {
		return Copy{}, fileError(err)
	}
	defer func() { err = cmp.Or(err, s.Close()) }()
	for _, f := range []func(context.Context) error{s.identified, s.checkStructure, s.checkPlaces, s.checkRecords} {
		if err := f(ctx); err != nil {
			return Copy{}, err
		}
	}
	if c.Schema, err = s.Schema(ctx); err != nil {
		return Copy{}, err
	}
	c.Bytes = s.file.Size()
	err = s.read(ctx, "SELECT count(*) FROM records", nil, func(row []driver.Value) error {
		c.Records, _ = row[0].(int64)
		return nil
	})
	return c, err
}

// identified refuses a file that is no store, such as an empty one.
func (s *Store) identified(ctx context.Context) error {
	c, err := s.acquire(ctx)
	if err != nil {
		return err
	}
	app, _, err := c.number("PRAGMA application_id")
	if err == nil && app != appID {
		err = fmt.Errorf("%w: not a store of anchor-host (name a file that store backup has made)", store.ErrInvalid)
	}
	if err == nil {
		err = identify(c)
	}
	s.release(c, err)
	return err
}

// publish syncs a complete file and gives it its name.
func publish(part, file string) error {
	f, err := os.OpenFile(part, os.O_RDWR, 0)
	if err != nil {
		return fileError(err)
	}
	err = cmp.Or(f.Sync(), f.Close())
	if err != nil {
		return fileError(err)
	}
	if err := absent(file); err != nil {
		return err
	}
	if err := os.Rename(part, file); err != nil {
		return fileError(err)
	}
	return syncDir(filepath.Dir(file))
}

// absent returns an error that wraps [fs.ErrExist] if there is such a file.
func absent(file string) error {
	_, err := os.Lstat(file)
	switch {
	case err == nil:
		return fmt.Errorf("%s: %w", file, fs.ErrExist)
	case errors.Is(err, fs.ErrNotExist):
		return nil
	}
	return fileError(err)
}

// regular returns an error unless there is such a file, and it is none of a device or a folder.
func regular(file string) error {
	info, err := os.Stat(file)
	if err != nil {
		return fileError(err)
	}
	if !info.Mode().IsRegular() {
		return fmt.Errorf("%w: %s is not a regular file (name a file)", store.ErrInvalid, file)
	}
	return nil
}
