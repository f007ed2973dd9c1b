package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/anchor-host/anchor-host/store"
)

var (
	_ store.Counter = (*Store)(nil)
	_ store.Sizer   = (*Store)(nil)
	_ store.Lister  = (*Store)(nil)
)

// listTenants goes from one tenant to the next in the index, past their many lists. Those that have only
// collections are added.
const listTenants = `WITH RECURSIVE names(name) AS ((SELECT tenant FROM lists WHERE last > 0 ORDER BY tenant LIMIT 1) UNION ALL
	SELECT (SELECT l.tenant FROM lists l WHERE l.tenant > names.name AND l.last > 0 ORDER BY l.tenant LIMIT 1) FROM names WHERE names.name IS NOT NULL)
	SELECT name FROM names WHERE name IS NOT NULL UNION SELECT tenant FROM collections ORDER BY 1`

// Tenants implements [store.Lister].
func (s *Store) Tenants(ctx context.Context) (names []string, err error) {
	err = s.rows(ctx, everyone, listTenants, nil, func() { names = nil }, func(r pgx.Rows) error {
		var name string
		err := r.Scan(&name)
		names = append(names, name)
		return err
	})
	if err != nil {
		return nil, s.fail(err, "list tenants")
	}
	return names, nil
}

// LastSeqs implements [store.Counter].
func (s *Store) LastSeqs(ctx context.Context, tenant string) (lasts map[store.Key]int64, err error) {
	if err := (store.Key{Tenant: tenant, Kind: "any"}).Validate(); err != nil {
		return nil, s.fail(err, "list numbers")
	}
	const query = "SELECT kind, stream, last FROM lists WHERE tenant = $1 AND last > 0"
	err = s.rows(ctx, tenant, query, []any{tenant}, func() { lasts = make(map[store.Key]int64) }, func(r pgx.Rows) error {
		k, last := store.Key{Tenant: tenant}, int64(0)
		err := r.Scan(&k.Kind, &k.Stream, &last)
		lasts[k] = last
		return err
	})
	if err != nil {
		return nil, s.fail(err, "list numbers")
	}
	return lasts, nil
}

// Size implements [store.Sizer].
func (s *Store) Size(ctx context.Context, tenant string, without ...string) (records, bytes int64, err error) {
	if err := (store.Key{Tenant: tenant, Kind: "any"}).Validate(); err != nil {
		return 0, 0, s.fail(err, "measure")
	}
	if without == nil {
		without = []string{} // nil would be NULL, of which no kind is different
	}
	const query = `SELECT count(*), coalesce(sum(length(r.data)), 0)::bigint FROM lists l JOIN records r ON r.list = l.id
		WHERE l.tenant = $1 AND l.kind <> ALL ($2::text[])`
	err = s.rows(ctx, tenant, query, []any{tenant, without}, func() {}, func(r pgx.Rows) error { return r.Scan(&records, &bytes) })
	if err != nil {
		return 0, 0, s.fail(err, "measure")
	}
	return records, bytes, nil
}
