package keys

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"

	"github.com/anchor-host/anchor-host/internal/atomicfile"
)

// lockTime is how long [Edit] waits for another process.
const lockTime = 10 * time.Second

// Edit changes a file of keys: it reads the file, calls change, and replaces the file by the
// result. If there is no file, change gets an empty one. If change returns an error, Edit returns
// it, and the file stays as it is.
//
// Processes that edit the same file wait for each other, 10 s at most, with a lock on a second
// file, whose name ends with .lock. A reader sees the file before or after the change. A new file
// can be read by its owner only; else owner, group and mode stay.
func Edit(ctx context.Context, path string, change func(*File) error) error {
	if target, err := filepath.EvalSymlinks(path); err == nil {
		path = target // the file is replaced, not the link
	}
	ctx, cancel := context.WithTimeout(ctx, lockTime)
	defer cancel()
	lock := flock.New(path+".lock", flock.SetPermissions(0o600))
	if ok, err := lock.TryLockContext(ctx, 20*time.Millisecond); err != nil || !ok {
		return fmt.Errorf("keys: lock %s.lock: %w (another process edits the file, or the folder cannot be written)", path, err)
	}
	defer lock.Close() // gives up the lock; the file stays, because removing it would race
	f, err := Read(path)
	if notThere(err) {
		f, err = &File{Version: 1}, nil
	}
	if err != nil {
		return err
	}
	if err := change(f); err != nil {
		return err
	}
	return f.write(path)
}

// write replaces the file.
func (f *File) write(path string) error {
	if f.Keys == nil {
		f.Keys = []Key{}
	}
	data, err := f.encode(path)
	if err != nil {
		return fmt.Errorf("keys: write: %w", err)
	}
	if _, err := Parse(path, data); err != nil { // what is written can be read again
		return fmt.Errorf("keys: write: %w", err)
	}
	if err := atomicfile.Write(path, 0o600, data); err != nil {
		return fmt.Errorf("keys: write: %w", err)
	}
	return nil
}
