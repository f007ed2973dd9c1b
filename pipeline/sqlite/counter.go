package sqlite

import (
	"context"
	"database/sql/driver"
	"fmt"
	"slices"

	"github.com/anchor-host/anchor-host/store"
)

var (
	_ store.Counter = (*Store)(nil)
	_ store.Sizer   = (*Store)(nil)
	_ store.Lister  = (*Store)(nil)
)

// Tenants implements [store.Lister].
func (s *Store) Tenants(ctx context.Context) ([]string, error) {
	var names []string
	err := s.read(ctx, listTenants, nil, func(row []driver.Value) error {
		name, ok := row[0].(string)
		if !ok {
			return fmt.Errorf("%w: a tenant that is not text", store.ErrCorrupt)
		}
		names = append(names, name)
		return nil
	})
	if err != nil {
		return nil, s.fail(err, "list tenants")
	}
	return names, nil
}

// LastSeqs implements [store.Counter].
func (s *Store) LastSeqs(ctx context.Context, tenant string) (map[store.Key]int64, error) {
	if err := (store.Key{Tenant: tenant, Kind: "any"}).Validate(); err != nil {
		return nil, s.fail(err, "list numbers")
	}
	lasts := make(map[store.Key]int64)
	err := s.read(ctx, listLasts, []driver.Value{tenant}, func(row []driver.Value) error {
		kind, ok := row[0].(string)
		stream, ok2 := row[1].(string)
		last, ok3 := row[2].(int64)
		if !ok || !ok2 || !ok3 {
			return fmt.Errorf("%w: a list that has no key or number", store.ErrCorrupt)
		}
		if last > 0 {
			lasts[store.Key{Tenant: tenant, Kind: kind, Stream: stream}] = last
		}
		return nil
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
	err = s.read(ctx, sizeOf, []driver.Value{tenant}, func(row []driver.Value) error {
		kind, named := row[0].(string)
		count, counted := row[1].(int64)
		sum, summed := row[2].(int64)
		if !named || !counted || !summed {
			return fmt.Errorf("%w: sums that are no numbers", store.ErrCorrupt)
		}
		if !slices.Contains(without, kind) {
			records, bytes = records+count, bytes+sum
		}
		return nil
	})
	if err != nil {
		return 0, 0, s.fail(err, "measure")
	}
	return records, bytes, nil
}
