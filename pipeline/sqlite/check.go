package sqlite

import (
	"context"
	"database/sql/driver"
	"fmt"

	"github.com/anchor-host/anchor-host/store"
)

// Check reads the whole file. It returns an error that wraps [store.ErrCorrupt] if the
// structure, an index or a record is not what was written. It takes seconds for each
// gigabyte, and other calls need not wait for it.
func (s *Store) Check(ctx context.Context) error {
	for _, f := range []func(context.Context) error{s.checkStructure, s.checkPlaces, s.checkRecords} {
		if err := f(ctx); err != nil {
			return s.fail(err, "check")
		}
	}
	return nil
}

// checkStructure makes SQLite check pages and indexes. It cannot be interrupted before
// SQLite reports its first problem or the end.
func (s *Store) checkStructure(ctx context.Context) error {
	return s.read(ctx, "PRAGMA integrity_check(1)", nil, func(row []driver.Value) error {
		if finding, _ := row[0].(string); finding != "ok" {
			return fmt.Errorf("%w: %s (restore a backup, or import an export into a new file)", store.ErrCorrupt, finding)
		}
		return nil
	})
}

// checkPlaces finds records that belong to no list, or that are beyond the end of theirs.
func (s *Store) checkPlaces(ctx context.Context) error {
	return s.read(ctx, strays, nil, func(row []driver.Value) error {
		if n, _ := row[0].(int64); n != 0 {
			return fmt.Errorf("%w: %d records that belong to no key (restore a backup)", store.ErrCorrupt, n)
		}
		return nil
	})
}

func (s *Store) checkRecords(ctx context.Context) error {
	return s.read(ctx, readAll, nil, func(row []driver.Value) error {
		_, err := scan(row)
		return err
	})
}
