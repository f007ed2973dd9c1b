package agentstore

import (
	"context"
	"errors"
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

// Open opens the store in a file, by default that of the user, and creates it if
// need be. synchronous is full, normal or empty for full.
func Open(ctx context.Context, path, synchronous string) (*sqlite.Store, error) {
	return open(ctx, path, synchronous, reserve)
}

// OpenToDelete opens the store like [Open] to delete from it on a full disk: it gives up
// what is held ready for that. nil if there is nothing to give up.
func OpenToDelete(ctx context.Context, path, synchronous string) (*sqlite.Store, error) {
	if path == "" {
		var err error
		if path, err = sqlite.DefaultPath(); err != nil {
			return nil, err
		}
	}
	if !sqlite.FreeReserve(path) {
		return nil, nil
	}
	return open(ctx, path, synchronous, 0)
}

func open(ctx context.Context, path, synchronous string, reserve int64) (*sqlite.Store, error) {
	if path == "" {
		var err error
		if path, err = sqlite.DefaultPath(); err != nil {
			return nil, err
		}
	}
	o := sqlite.Options{Sync: sqlite.Full, Reserve: reserve}
	if synchronous == "normal" {
		o.Sync = sqlite.Normal
	}
	return sqlite.Open(ctx, path, o)
}

// OpenToRead opens the store like [Open] where that is possible, and otherwise, where
// this user may not write or the disk is full, a store that is there for reading alone.
func OpenToRead(ctx context.Context, path, synchronous string) (*sqlite.Store, error) {
	s, err := Open(ctx, path, synchronous)
	if !errors.Is(err, store.ErrReadOnly) && !errors.Is(err, store.ErrFull) {
		return s, err
	}
	if path == "" {
		var pathErr error
		if path, pathErr = sqlite.DefaultPath(); pathErr != nil {
			return nil, pathErr
		}
	}
	s, readErr := sqlite.Open(ctx, path, sqlite.Options{ReadOnly: true})
	if errors.Is(readErr, fs.ErrNotExist) {
		return nil, err // it could not be made
	}
	return s, readErr
}
