package agentstore

import (
	"cmp"
	"context"
	"fmt"

	"github.com/anchor-host/anchor-host/internal/storecopy"
	"github.com/anchor-host/anchor-host/internal/storeurl"
	"github.com/anchor-host/anchor-host/pipeline/postgres"
	"github.com/anchor-host/anchor-host/pipeline/sqlite"
	"github.com/anchor-host/anchor-host/store"
)

// openURL opens the store in a database. existing means that it makes none and changes no tables.
func openURL(ctx context.Context, name, synchronous string, existing bool) (store.Store, error) {
	s, err := database(ctx, name, synchronous, existing)
	if err != nil {
		return nil, err // not s: an interface that holds a nil pointer is not nil
	}
	return s, nil
}

func database(ctx context.Context, name, synchronous string, existing bool) (*postgres.Store, error) {
	address, set, err := storeurl.Split(name)
	if err != nil {
		return nil, fmt.Errorf("%w: open store %s: %w", store.ErrInvalid, storeurl.Address(name), err)
	}
	return postgres.Open(ctx, address, postgres.Options{
		Async: synchronous == "normal", Pool: set.Pool, Timeout: set.Timeout, Replica: set.Replica, Existing: existing,
	})
}

// inspectURL opens a store that is there, calls f, and closes the store.
func inspectURL(ctx context.Context, name string, f func(*postgres.Store) error) (err error) {
	s, err := database(ctx, name, "", true)
	if err != nil {
		return err
	}
	defer func() { err = cmp.Or(err, s.Close()) }()
	return f(s)
}

// OpenCopy opens a store to copy it, or to copy to it if write is set. A store that is only read is not
// changed, and must be there.
func OpenCopy(ctx context.Context, name string, write bool) (end storecopy.End, close func() error, err error) {
	var s store.Store
	switch {
	case write:
		s, err = Open(ctx, name, "")
	case storeurl.Is(name):
		s, err = openURL(ctx, name, "", true)
	default:
		s, err = open(ctx, name, sqlite.Options{ReadOnly: true})
	}
	if err != nil {
		return end, nil, err
	}
	index, _ := IndexOf(s)
	return storecopy.End{Store: s.(storecopy.Store), Index: index}, s.Close, nil
}

// Health asks the database of a store how it is, and changes nothing. The error wraps [store.ErrNotFound] if
// it has no store yet.
func Health(ctx context.Context, name string) (h postgres.Health, err error) {
	err = inspectURL(ctx, name, func(s *postgres.Store) error {
		h, err = s.Health(ctx)
		return err
	})
	return h, err
}

// ownTools is the error of a backup of a database, which has its own tools for it.
func ownTools(what, name, command string) error {
	return fmt.Errorf("%w: %s store %s: PostgreSQL has its own tools: %s (as a superuser; for any moment in time: pg_basebackup and an archive of the WAL)",
		store.ErrInvalid, what, storeurl.Address(name), command)
}

func dumpCommand(file string) string {
	return "pg_dump --format=custom --schema=anchor --file=" + file + " DATABASE"
}

func restoreCommand(file string) string {
	return "pg_restore --exit-on-error --single-transaction --dbname=DATABASE " + file
}

// examineURL reads all records of a database.
func examineURL(ctx context.Context, name string) (c sqlite.Copy, err error) {
	err = inspectURL(ctx, name, func(s *postgres.Store) error {
		if err := s.Check(ctx); err != nil {
			return err
		}
		if c.Schema, err = s.Schema(ctx); err != nil {
			return err
		}
		tenants, err := s.Tenants(ctx)
		for _, tenant := range tenants {
			if err != nil {
				break
			}
			var records, bytes int64
			records, bytes, err = s.Size(ctx, tenant)
			c.Records, c.Bytes = c.Records+records, c.Bytes+bytes
		}
		return err
	})
	return c, err
}
