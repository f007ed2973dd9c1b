package sqlite

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"time"

	"github.com/anchor-host/anchor-host/pipeline/store"
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

const (
	// DefaultBusyTimeout is how long a write waits for another process. It is longer than
	// the largest batch takes on a slow disk.
	DefaultBusyTimeout = 5 * time.Second
	// minReaders is the number of readers on a machine with few processors. There may be
	// more readers than processors because they mostly wait for the disk.
	minReaders = 4
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
	// with "-reserve" added. To delete records on a full disk, call [FreeReserve], which
	// removes that file. The next Open makes it again when there is room. Zero means that
	// there is no such file.
	Reserve int64

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
	writer  *writer    // nil if read-only
	readers chan *conn // nil for one that is not open yet
	closing chan struct{}
	once    sync.Once
	done    error // of Close
}

var _ store.Store = (*Store)(nil)

// Open opens the store in a file. It creates the file and its directory if they do not
// exist. Errors name the file. Besides the errors of every call, Open may return
// [store.ErrVersion] if a newer program wrote the file.
func Open(ctx context.Context, path string, opts Options) (*Store, error) {
	s, err := open(ctx, path, opts)
	if err != nil {
		return nil, fmt.Errorf("open store %s: %w", path, err)
	}
	return s, nil
}

func open(ctx context.Context, path string, opts Options) (*Store, error) {
	if err := opts.complete(); err != nil {
		return nil, err
	}
	if path == "" {
		return nil, fmt.Errorf("%w: no path", store.ErrInvalid)
	}
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	s := &Store{path: path, uri: fileURI(path) + "?mode=rw", opts: opts, readers: make(chan *conn, opts.Readers), closing: make(chan struct{})}
	for range opts.Readers {
		s.readers <- nil
	}
	if opts.ReadOnly {
		return s, s.openReadOnly()
	}
	if err := createFile(path); err != nil {
		return nil, err
	}
	c, err := s.openWriter(ctx)
	if err != nil {
		return nil, translate(err)
	}
	if s.file, err = os.Stat(path); err != nil {
		_ = c.close() // the first error says it all
		return nil, fileError(err)
	}
	s.writer = newWriter(s, c)
	go s.writer.run()
	s.keepReserve()
	return s, nil
}

func (o *Options) complete() error {
	switch o.Sync {
	case "":
		o.Sync = Full
	case Full, Normal:
	default:
		return fmt.Errorf("%w: sync %q (full, normal)", store.ErrInvalid, o.Sync)
	}
	if o.BusyTimeout < 0 || o.Readers < 0 || o.Reserve < 0 {
		return fmt.Errorf("%w: negative option", store.ErrInvalid)
	}
	if o.BusyTimeout == 0 {
		o.BusyTimeout = DefaultBusyTimeout
	}
	if o.Readers == 0 {
		o.Readers = max(minReaders, runtime.NumCPU())
	}
	if o.checkpointPages == 0 {
		o.checkpointPages = checkpointPages
	}
	return nil
}

// openWriter prepares the file. Another process may be doing the same. SQLite does not wait
// at every step of that, so openWriter repeats all steps until the busy timeout.
func (s *Store) openWriter(ctx context.Context) (*conn, error) {
	deadline := time.Now().Add(s.opts.BusyTimeout)
	for {
		c, err := s.tryOpenWriter()
		if primary(err) != primaryBusy || time.Now().After(deadline) {
			return c, err
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(busySlice):
		}
	}
}

func (s *Store) tryOpenWriter() (*conn, error) {
	c, err := openConn(s.uri, busyPragma(busySlice), "trusted_schema = OFF", "cell_size_check = ON")
	if err != nil {
		return nil, err
	}
	if err := s.prepareFile(c); err != nil {
		_ = c.close() // the first error says it all
		return nil, err
	}
	return c, nil
}

func (s *Store) prepareFile(c *conn) error {
	if err := identify(c); err != nil {
		return err
	}
	mode, err := c.text("PRAGMA journal_mode = WAL")
	if err != nil {
		return err
	}
	if mode != "wal" {
		return fmt.Errorf("journal mode is %s instead of wal (put the file on a local disk)", mode)
	}
	settings := fmt.Sprintf(`PRAGMA synchronous = %s; PRAGMA secure_delete = ON; PRAGMA temp_store = MEMORY;
		PRAGMA cache_size = -%d; PRAGMA wal_autocheckpoint = %d; PRAGMA journal_size_limit = %d`,
		s.opts.Sync, writerCacheKiB, s.opts.checkpointPages, walKeepBytes)
	if s.opts.maxPages > 0 {
		settings += fmt.Sprintf("; PRAGMA max_page_count = %d", s.opts.maxPages)
	}
	if err := c.once(settings); err != nil {
		return err
	}
	return migrate(c)
}

// sameFile returns an error if the path no longer leads to the file that was opened. SQLite
// would continue with a file that has no name, or read a different one.
func (s *Store) sameFile() error {
	info, err := os.Stat(s.path)
	if err != nil {
		return fileError(err)
	}
	if !os.SameFile(s.file, info) {
		return errors.New("the file was replaced while it was open (open the store again)")
	}
	return nil
}

// Close implements [store.Store]. It waits until calls that wait for another process have
// succeeded or failed with [store.ErrBusy].
func (s *Store) Close() error {
	s.once.Do(func() {
		close(s.closing)
		errs := []error{}
		for range s.opts.Readers {
			if c := <-s.readers; c != nil {
				errs = append(errs, c.close())
			}
		}
		if s.writer != nil {
			errs = append(errs, s.writer.close())
		}
		if err := errors.Join(errs...); err != nil {
			s.done = fmt.Errorf("close store %s: %w", s.path, translate(err))
		}
	})
	return s.done
}

// fail adds the file and the operation to an error, and the meaning of an SQLite error.
func (s *Store) fail(err error, format string, args ...any) error {
	return fmt.Errorf("store %s: %s: %w", s.path, fmt.Sprintf(format, args...), translate(err))
}
