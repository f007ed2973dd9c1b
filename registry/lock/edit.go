package lock

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"syscall"
	"time"

	"github.com/gofrs/flock"

	"github.com/anchor-host/anchor-host/internal/atomicfile"
)

// lockTime is how long [Edit] waits for another process.
const lockTime = 10 * time.Second

// Edit changes a file: it reads the file, calls change, and replaces the file by the result. If
// there is no file, change gets an empty one. If change returns an error, Edit returns it, and the
// file stays as it is.
//
// Processes that edit the same file wait for each other, 10 s at most, with a lock on the file
// .anchor.lock.held beside it. A reader sees the file before or after the change.
func Edit(ctx context.Context, path string, change func(*File) error) error {
	path, release, err := hold(ctx, path)
	if err != nil {
		return err
	}
	defer release()
	return read(path, func(f *File) error {
		if err := change(f); err != nil {
			return err
		}
		return f.write(path)
	})
}

// Hold reads a file, and calls use while no process edits it. Without a file, use gets an empty one.
// Where the folder cannot be written, no process of this user edits the file, so Hold does not wait.
func Hold(ctx context.Context, path string, use func(*File) error) error {
	path, release, err := hold(ctx, path)
	if errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS) {
		release, err = func() {}, nil
	}
	if err != nil {
		return err
	}
	defer release()
	return read(path, use)
}

// hold waits until no other process edits a file. It returns the path of the file itself, if path is
// that of a link.
func hold(ctx context.Context, path string) (target string, release func(), err error) {
	if target, err := filepath.EvalSymlinks(path); err == nil {
		path = target // the file is replaced, not the link
	}
	ctx, cancel := context.WithTimeout(ctx, lockTime)
	defer cancel()
	held := flock.New(filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+".held"))
	if ok, err := held.TryLockContext(ctx, 20*time.Millisecond); err != nil || !ok {
		return path, nil, fmt.Errorf("lock: hold %s: %w (another process edits it, or the folder cannot be written)", held.Path(), err)
	}
	return path, func() { _ = held.Close() }, nil // the file stays, because removing it would race
}

// read calls use with a file, or with an empty one if there is none.
func read(path string, use func(*File) error) error {
	f, err := Read(path)
	if missing(err) {
		f, err = &File{Version: Version}, nil
	}
	if err != nil {
		return err
	}
	return use(f)
}

// write replaces the file. After a power cut the old one or the new one is there.
func (f *File) write(path string) error {
	data, err := f.encode()
	if err != nil {
		return err
	}
	if _, err := Parse(path, data); err != nil { // what is written can be read again
		return fmt.Errorf("lock: write: %w", err)
	}
	if err := atomicfile.Write(path, 0o644, data); err != nil {
		return fmt.Errorf("lock: write: %w", err)
	}
	return nil
}
