package sqlite

import (
	"errors"
	"fmt"
	"io/fs"
	"sync"
	"time"

	"github.com/anchor-host/anchor-host/store"
)

// Sync says when a commit is durable.
type Sync string

const (
	// Full syncs every commit before it is acknowledged.
	Full Sync = "full"
	// Normal syncs from time to time. A power cut may lose the last commits; the end of the
	// process loses nothing.
	Normal Sync = "normal"
)

// Options are the settings of a store. The zero value is the safest choice.
type Options struct {
	// Sync says when a commit is durable. Empty means Full.
	Sync Sync
	// BusyTimeout is how long a call waits for another process that writes, before
	// it returns [store.ErrBusy]. Zero means DefaultBusyTimeout.
	BusyTimeout time.Duration
	// ReadOnly opens an existing file for reading and writes no file at all: calls that
	// write return [store.ErrReadOnly]. If no process has the file open, the store reads it
	// without locks; a process that then begins to write may cause [store.ErrCorrupt].
	ReadOnly bool
	// Readers is the number of connections that read at the same time. Each has up to 2 MiB
	// of cache. Zero means one for each CPU, and at least 4.
	Readers int
	// Reserve is the size in bytes of a reserve file next to the store, named like the store
	// with "-reserve" added. A deletion on a full disk removes that file and has its room.
	// If the store cannot even be opened, call [FreeReserve]. Open and Checkpoint make the
	// file again when there is room. Zero means that there is no such file.
	Reserve int64
	// IndexCache is how many bytes of collections [Store.Index] keeps in memory between
	// searches. A collection that is larger is read from the file for each search. Zero
	// means DefaultIndexCache.
	IndexCache int64

	// For tests:
	maxPages        int // of the file
	checkpointPages int // of the log before it is carried into the file
}

// Store is a [store.Store] in an SQLite file. Close it to release its open files and its
// goroutine.
type Store struct {
	path    string
	uri     string // of connections that read
	file    fs.FileInfo
	opts    Options
	writer  *writer // nil if read-only
	readers *pool
	closing chan struct{}
	once    sync.Once
	done    error // of Close
	index   *Index
	*facts
}

var _ store.Store = (*Store)(nil)

// writer is the only goroutine that writes. It owns its connection.
type writer struct {
	store   *Store
	settle  time.Duration // settle, except in tests
	stopped chan struct{}

	mu     sync.Mutex
	wake   sync.Cond // the queue has grown, or closed is set
	queue  []*request
	closed bool

	tx      tx
	group   []*request
	commits int // for tests
}

// Close implements [store.Store]. It waits until calls that wait for another process have
// succeeded or failed with [store.ErrBusy].
func (s *Store) Close() error {
	s.once.Do(func() {
		close(s.closing)
		errs := []error{}
		for range s.opts.Readers {
			<-s.readers.free
			if c := s.readers.take(); c != nil {
				errs = append(errs, c.close())
			}
		}
		if s.writer != nil {
			errs = append(errs, s.writer.close())
		}
		if err := errors.Join(errs...); err != nil {
			s.done = &failure{s.path, "close", translate(err)}
		}
	})
	return s.done
}

// fail adds the file and the operation to an error, and the meaning of an SQLite error.
func (s *Store) fail(err error, format string, args ...any) error {
	return &failure{s.path, fmt.Sprintf(format, args...), translate(err)}
}
