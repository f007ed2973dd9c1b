package sqlite

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/anchor-host/anchor-host/store"
)

const (
	// DefaultBusyTimeout is how long a write waits for another process. It is longer than
	// the largest batch takes on a slow disk.
	DefaultBusyTimeout = 5 * time.Second
	// DefaultIndexCache has room for some 300,000 chunks with vectors of 256 dimensions.
	DefaultIndexCache = 512 << 20
	// minReaders is the number of readers on a machine with few processors. There may be
	// more readers than processors because they mostly wait for the disk.
	minReaders = 4

	// writerCacheKiB has room for the pages that a transaction of the largest batch changes.
	writerCacheKiB = 16 << 10
	// checkpointPages is the size of the log (16 MiB) at which it is copied into the file.
	// Pages that change often are then copied once for many commits.
	checkpointPages = 4096
	// walKeepBytes is the size to which a larger log is cut after a checkpoint.
	walKeepBytes = 64 << 20
)

// Open opens the store in a file. It creates the file and its directory if they do not
// exist. Errors name the file. Besides the errors of every call, Open may return
// [store.ErrVersion] if a newer program wrote the file.
func Open(ctx context.Context, path string, opts Options) (*Store, error) {
	s, err := open(ctx, path, opts)
	if err != nil {
		return nil, &failure{path, "open", err}
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
	s := &Store{path: path, uri: fileURI(path) + "?mode=rw", opts: opts, readers: newPool(opts.Readers), closing: make(chan struct{})}
	s.makeIndex()
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
	if o.BusyTimeout < 0 || o.Readers < 0 || o.Reserve < 0 || o.IndexCache < 0 {
		return fmt.Errorf("%w: negative option", store.ErrInvalid)
	}
	o.BusyTimeout = cmp.Or(o.BusyTimeout, DefaultBusyTimeout)
	o.Readers = cmp.Or(o.Readers, max(minReaders, runtime.NumCPU()))
	o.IndexCache = cmp.Or(o.IndexCache, DefaultIndexCache)
	o.checkpointPages = cmp.Or(o.checkpointPages, checkpointPages)
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
