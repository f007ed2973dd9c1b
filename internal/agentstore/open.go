package agentstore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/anchor-host/anchor-host/pipeline/store"
	"github.com/anchor-host/anchor-host/pipeline/store/sqlite"
)

// The kinds under which a run is stored, beside those of package memory.
const (
	KindFrame = "frame" // a log of frames
	KindRun   = "run"   // the pipeline document of the frames, without them
	KindState = "state" // the state, newest version last

	KindIntent   = "intent"   // what the run was asked, newest last
	KindPlan     = "plan"     // how it is to be reached, newest last
	KindSnapshot = "snapshot" // what the window of the frames held at some moments
)

// reserve is what is held ready to delete records on a full disk, in bytes: what the log
// needs for records of a few hundred KiB.
const reserve = 512 << 10

// This file is all that the command and package anchor know of the form of their store:
// another form is chosen here.

// Path is the file of the store: path, or that of the user if it is empty.
func Path(path string) (string, error) {
	if path != "" {
		return path, nil
	}
	path, err := sqlite.DefaultPath()
	if err != nil {
		return "", fmt.Errorf("%w (name the file in store.path or --store, or set XDG_DATA_HOME)", err)
	}
	return path, nil
}

// Open opens the store in a file, by default that of the user, and creates it if
// need be. synchronous is full, normal or empty for full.
func Open(ctx context.Context, path, synchronous string) (store.Store, error) {
	return open(ctx, path, options(synchronous, reserve))
}

// OpenToDelete opens the store like [Open] to delete from it on a full disk: it gives up
// what is held ready for that. nil if there is nothing to give up.
func OpenToDelete(ctx context.Context, path, synchronous string) (store.Store, error) {
	path, err := Path(path)
	if err != nil || !sqlite.FreeReserve(path) {
		return nil, err
	}
	return open(ctx, path, options(synchronous, 0))
}

// OpenToRead opens the store like [Open] where that is possible, and otherwise, where
// this user may not write or the disk is full, a store that is there for reading alone.
func OpenToRead(ctx context.Context, path, synchronous string) (store.Store, error) {
	s, err := Open(ctx, path, synchronous)
	if !errors.Is(err, store.ErrReadOnly) && !errors.Is(err, store.ErrFull) {
		return s, err
	}
	s, readErr := open(ctx, path, sqlite.Options{ReadOnly: true})
	if errors.Is(readErr, fs.ErrNotExist) {
		return nil, err // it could not be made
	}
	return s, readErr
}

// Schema returns the version of the schema of the store in a file, and changes nothing.
func Schema(ctx context.Context, path string) (version int, err error) {
	err = inspect(ctx, path, func(s *sqlite.Store) error {
		version, err = s.Schema(ctx)
		return err
	})
	return version, err
}

// Verify reads the whole store in a file and changes nothing. The error is
// [store.ErrCorrupt] if something is not what was written.
func Verify(ctx context.Context, path string) error {
	return inspect(ctx, path, func(s *sqlite.Store) error { return s.Check(ctx) })
}

func options(synchronous string, reserve int64) sqlite.Options {
	o := sqlite.Options{Sync: sqlite.Full, Reserve: reserve}
	if synchronous == "normal" {
		o.Sync = sqlite.Normal
	}
	return o
}

func open(ctx context.Context, path string, o sqlite.Options) (store.Store, error) {
	path, err := Path(path)
	if err != nil {
		return nil, err
	}
	s, err := sqlite.Open(ctx, path, o)
	if err != nil {
		return nil, err // and no interface that holds a nil
	}
	return s, nil
}

// inspect opens a store for reading alone, and closes it.
func inspect(ctx context.Context, path string, f func(*sqlite.Store) error) (err error) {
	s, err := sqlite.Open(ctx, path, sqlite.Options{ReadOnly: true})
	if err != nil {
		return err
	}
	defer func() {
		if closed := s.Close(); err == nil {
			err = closed
		}
	}()
	return f(s)
}
