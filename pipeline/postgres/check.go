package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/anchor-host/anchor-host/store"
)

// strays counts records that belong to no list, or that are beyond the end of theirs.
const strays = `SELECT count(*) FROM records r LEFT JOIN lists l ON l.id = r.list WHERE l.id IS NULL OR r.seq NOT BETWEEN 1 AND l.last`

// Check reads all records. It returns an error that wraps [store.ErrCorrupt] if one is not what was
// written. The server checks its own files with pg_amcheck, and with checksums if it has them.
func (s *Store) Check(ctx context.Context) error {
	tenants, err := s.Tenants(ctx)
	for _, tenant := range tenants {
		if err == nil {
			err = s.checkTenant(ctx, tenant)
		}
	}
	if err != nil {
		return s.fail(err, "check")
	}
	return nil
}

func (s *Store) checkTenant(ctx context.Context, tenant string) error {
	n := 0
	err := s.rows(ctx, tenant, strays, nil, func() {}, func(r pgx.Rows) error { return r.Scan(&n) })
	if err == nil && n > 0 {
		err = fmt.Errorf("%w: %d records of tenant %s that belong to no key (restore a backup)", store.ErrCorrupt, n, tenant)
	}
	if err != nil {
		return err
	}
	keys, err := s.Keys(ctx, tenant, "")
	if err != nil {
		return err
	}
	for _, key := range keys {
		for _, err := range store.All(ctx, s, key, 0) {
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// Health says what an operator wants to know of a store.
type Health struct {
	// Server is the version of the server.
	Server string
	// Schema is the version of the tables.
	Schema int
	// Unfenced means that the role passes the policies that keep tenants apart: it is a superuser, or has
	// BYPASSRLS.
	Unfenced bool
	// Unsafe means that the server may lose acknowledged commits in a crash: fsync or full_page_writes is off.
	Unsafe bool
	// Lag is how far the replica is behind, zero without one.
	Lag time.Duration
}

// Health asks the server how it is.
func (s *Store) Health(ctx context.Context) (h Health, err error) {
	const query = `SELECT current_setting('server_version'), r.rolsuper OR r.rolbypassrls,
		current_setting('fsync') <> 'on' OR current_setting('full_page_writes') <> 'on' FROM pg_roles r WHERE r.rolname = current_user`
	err = s.read(ctx, s.pool, func(ctx context.Context, c *pgx.Conn) error {
		return c.QueryRow(ctx, query).Scan(&h.Server, &h.Unfenced, &h.Unsafe)
	})
	if err == nil && s.replica != nil {
		const lag = "SELECT coalesce(extract(epoch FROM now() - pg_last_xact_replay_timestamp()), 0)::float8"
		err = s.read(ctx, s.replica, func(ctx context.Context, c *pgx.Conn) error {
			seconds := 0.0
			err := c.QueryRow(ctx, lag).Scan(&seconds)
			h.Lag = time.Duration(seconds * float64(time.Second))
			return err
		})
	}
	if err == nil {
		h.Schema, err = s.Schema(ctx)
	}
	if err != nil {
		return h, s.fail(err, "ask the server")
	}
	return h, nil
}
