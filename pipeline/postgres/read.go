package postgres

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/anchor-host/anchor-host/store"
)

// Statements that read records of one list. The list is found first, so that the index of the records
// gives them in their order.
const (
	readFrom = `SELECT seq, id, time, sum, data FROM records WHERE list = (SELECT id FROM lists WHERE tenant = $1 AND kind = $2 AND stream = $3) `
	readUp   = readFrom + "AND seq > $4 ORDER BY seq LIMIT $5"
	readDown = readFrom + "AND seq > $4 ORDER BY seq DESC LIMIT $5"
	readID   = readFrom + "AND id = $4"
	readSeq  = readFrom + "AND seq = $4 AND id IS NULL"
)

// expect is the initial capacity of a list of records: a typical window, or a page.
const expect = 64

// Read implements [store.Store].
func (s *Store) Read(ctx context.Context, key store.Key, after int64, limit int) ([]store.Record, error) {
	if limit < 0 {
		return nil, s.fail(fmt.Errorf("%w: limit %d (want 0 or more)", store.ErrInvalid, limit), "read %s", key)
	}
	var most *int
	if limit > 0 {
		most = &limit
	}
	recs, err := s.records(ctx, key, readUp, min(max(after, 0), store.MaxSeq), most)
	if damaged := new(store.CorruptError); err != nil && !errors.As(err, &damaged) {
		return nil, err
	}
	return recs, err
}

// Last implements [store.Store].
func (s *Store) Last(ctx context.Context, key store.Key, n int) ([]store.Record, error) {
	if n < 0 {
		return nil, s.fail(fmt.Errorf("%w: the last %d records (want 0 or more)", store.ErrInvalid, n), "read %s", key)
	}
	recs, err := s.records(ctx, key, readDown, int64(0), n)
	if err != nil {
		return nil, err
	}
	slices.Reverse(recs)
	return recs, nil
}

// Get implements [store.Store].
func (s *Store) Get(ctx context.Context, key store.Key, id string) (store.Record, error) {
	query, arg, possible := byID(id)
	var recs []store.Record
	var err error
	if possible {
		recs, err = s.records(ctx, key, query, arg)
	} else if err = key.Validate(); err == nil {
		err = s.usable(ctx)
	}
	if err == nil && len(recs) == 0 {
		err = store.ErrNotFound
	}
	if err != nil {
		return store.Record{}, s.fail(err, "get %q of %s", id, key)
	}
	return recs[0], nil
}

// byID returns the statement and the argument that find a record. It returns false for an ID that no
// record has.
func byID(id string) (query string, arg any, possible bool) {
	if store.IsAutoID(id) {
		seq, ok := store.ParseAutoID(id)
		return readSeq, seq, ok && seq <= store.MaxSeq
	}
	return readID, id, id != "" && (&store.Record{ID: id, Data: []byte("0")}).Validate() == nil
}

// records runs a query for records of a key and verifies each.
func (s *Store) records(ctx context.Context, key store.Key, query string, args ...any) (recs []store.Record, err error) {
	if err := key.Validate(); err != nil {
		return nil, s.fail(err, "read %s", key)
	}
	err = s.rows(ctx, key.Tenant, query, append([]any{key.Tenant, key.Kind, key.Stream}, args...), func() { recs = nil }, func(r pgx.Rows) error {
		if recs == nil {
			recs = make([]store.Record, 0, expect)
		}
		one, err := scan(r)
		if err == nil {
			recs = append(recs, one)
		}
		return err
	})
	if err != nil {
		return recs, s.fail(err, "read %s", key)
	}
	return recs, nil
}

// rows runs a query as a tenant in one round trip and calls f with each row. It calls begin before the
// first, also when it tries again.
func (s *Store) rows(ctx context.Context, tenant, query string, args []any, begin func(), f func(pgx.Rows) error) error {
	return s.read(ctx, s.reader(ctx), func(ctx context.Context, c *pgx.Conn) error {
		begin()
		var b pgx.Batch
		b.Queue(setTenant, tenant)
		b.Queue(query, args...).Query(func(rows pgx.Rows) error {
			for rows.Next() {
				if err := f(rows); err != nil {
					return err
				}
			}
			return rows.Err()
		})
		return c.SendBatch(ctx, &b).Close()
	})
}

// scan makes a record from a row and verifies its checksum.
func scan(rows pgx.Rows) (store.Record, error) {
	var id *string
	var seq, nanos, sum int64
	var data []byte
	if err := rows.Scan(&seq, &id, &nanos, &sum, &data); err != nil {
		return store.Record{}, err
	}
	own := ""
	if id != nil {
		own = *id
	}
	return sealedRecord(seq, own, nanos, sum, data)
}

// sealedRecord makes a record and verifies its checksum. own is its ID, "" for one of the store.
func sealedRecord(seq int64, own string, nanos, sum int64, data []byte) (store.Record, error) {
	r := store.Record{Seq: seq, ID: own, Data: data, Time: time.Unix(0, nanos).UTC()}
	if own == "" {
		r.ID = store.AutoID(seq)
	}
	if sum != checksum(own, nanos, data) {
		return r, &store.CorruptError{Seq: r.Seq, ID: r.ID}
	}
	return r, nil
}

const listKeys = `SELECT kind, stream FROM lists l WHERE tenant = $1 AND ($2 = '' OR kind = $2)
	AND EXISTS (SELECT 1 FROM records r WHERE r.list = l.id) ORDER BY kind, stream`

// Keys implements [store.Store].
func (s *Store) Keys(ctx context.Context, tenant, kind string) (keys []store.Key, err error) {
	if err := (store.Key{Tenant: tenant, Kind: "any", Stream: kind}).Validate(); err != nil {
		return nil, s.fail(err, "list keys")
	}
	err = s.rows(ctx, tenant, listKeys, []any{tenant, kind}, func() { keys = nil }, func(r pgx.Rows) error {
		k := store.Key{Tenant: tenant}
		err := r.Scan(&k.Kind, &k.Stream)
		keys = append(keys, k)
		return err
	})
	if err != nil {
		return nil, s.fail(err, "list keys")
	}
	return keys, nil
}
