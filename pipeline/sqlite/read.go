package sqlite

import (
	"cmp"
	"context"
	"database/sql/driver"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/anchor-host/anchor-host/internal/observe"
	"github.com/anchor-host/anchor-host/store"
)

// checkEvery is the number of rows between two checks of the context.
const checkEvery = 256

// expect is the initial capacity of a list of records: a typical window, or a page.
const expect = 64

// Read implements [store.Store].
func (s *Store) Read(ctx context.Context, key store.Key, after int64, limit int) ([]store.Record, error) {
	if limit < 0 {
		return nil, s.fail(fmt.Errorf("%w: limit %d (want 0 or more)", store.ErrInvalid, limit), "read %s", key)
	}
	limit = cmp.Or(limit, -1)
	recs, err := s.records(ctx, key, readUp, min(max(after, 0), store.MaxSeq), int64(limit))
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
	recs, err := s.records(ctx, key, readDown, int64(0), int64(n))
	if err != nil {
		return nil, err
	}
	slices.Reverse(recs)
	return recs, nil
}

// Get implements [store.Store].
func (s *Store) Get(ctx context.Context, key store.Key, id string) (store.Record, error) {
	query, arg := readID, driver.Value(id)
	if store.IsAutoID(id) {
		seq, ok := store.ParseAutoID(id)
		if !ok || seq > store.MaxSeq {
			seq = 0 // which no record has
		}
		query, arg = readSeq, seq
	}
	recs, err := s.records(ctx, key, query, arg)
	if err != nil {
		return store.Record{}, err
	}
	if len(recs) == 0 {
		return store.Record{}, s.fail(store.ErrNotFound, "get %q of %s", id, key)
	}
	return recs[0], nil
}

// Keys implements [store.Store].
func (s *Store) Keys(ctx context.Context, tenant, kind string) ([]store.Key, error) {
	if err := (store.Key{Tenant: tenant, Kind: "any"}).Validate(); err != nil {
		return nil, s.fail(err, "list keys")
	}
	var keys []store.Key
	err := s.read(ctx, listKeys, []driver.Value{tenant, kind}, func(row []driver.Value) error {
		k, ok := row[0].(string)
		stream, ok2 := row[1].(string)
		if !ok || !ok2 {
			return fmt.Errorf("%w: a key that is not text", store.ErrCorrupt)
		}
		keys = append(keys, store.Key{Tenant: tenant, Kind: k, Stream: stream})
		return nil
	})
	if err != nil {
		return nil, s.fail(err, "list keys")
	}
	return keys, nil
}

// records runs a query for records of a key and verifies each. The first argument of the query
// comes before the key, and the others after it.
func (s *Store) records(ctx context.Context, key store.Key, query string, first driver.Value, more ...driver.Value) ([]store.Record, error) {
	if err := key.Validate(); err != nil {
		return nil, s.fail(err, "read %s", key)
	}
	var recs []store.Record
	args := append([]driver.Value{first, key.Tenant, key.Kind, key.Stream}, more...)
	err := s.read(ctx, query, args, func(row []driver.Value) error {
		if recs == nil {
			recs = make([]store.Record, 0, expect)
		}
		r, err := scan(row)
		if err == nil {
			recs = append(recs, r)
		}
		return err
	})
	if err != nil {
		return recs, s.fail(err, "read %s", key)
	}
	return recs, nil
}

// read runs a query on one of the readers.
func (s *Store) read(ctx context.Context, query string, args []driver.Value, f func(row []driver.Value) error) (err error) {
	ctx, span := observe.Begin(ctx, observe.Work{Kind: observe.Store, Name: "read"})
	defer func() { span.End(observe.Result{Err: err}) }()
	c, err := s.acquire(ctx)
	if err != nil {
		return err
	}
	n := 0
	err = c.query(query, args, func(row []driver.Value) error {
		if n++; n%checkEvery == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		return f(row)
	})
	s.release(c, err)
	return err
}

// acquire takes a reader, and opens its connection if it is new.
func (s *Store) acquire(ctx context.Context) (*conn, error) {
	select {
	case <-s.closing:
		return nil, store.ErrClosed
	default:
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	select {
	case <-s.readers.free:
	case <-s.closing:
		return nil, store.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	var err error
	c := s.readers.take()
	if c == nil {
		c, err = s.openReader()
	}
	if err == nil {
		_, err = version(c) // a newer program may have changed the file since
	}
	if err != nil {
		s.release(c, err)
		return nil, err
	}
	return c, nil
}

func (s *Store) openReader() (*conn, error) {
	if err := s.sameFile(); err != nil {
		return nil, err
	}
	return openConn(s.uri, busyPragma(s.opts.BusyTimeout), "trusted_schema = OFF", "cell_size_check = ON", "query_only = ON", "temp_store = MEMORY")
}

// release returns a connection. After an SQLite error it closes the connection, and the next
// reader opens a new one.
func (s *Store) release(c *conn, err error) {
	if c != nil && code(err) != 0 {
		_ = c.close() // the first error says it all
		c = nil
	}
	s.readers.put(c)
}

// scan makes a record from a row and verifies its checksum.
func scan(row []driver.Value) (store.Record, error) {
	at, ok := row[0].(int64)
	id, _ := row[1].(string) // null: the ID follows from the place
	nanos, ok2 := row[2].(int64)
	sum, ok3 := row[3].(int64)
	data, ok4 := row[4].([]byte)
	r := store.Record{Seq: at & seqMask, ID: id, Data: json.RawMessage(data), Time: time.Unix(0, nanos).UTC()}
	if id == "" {
		r.ID = store.AutoID(r.Seq)
	}
	if !ok || !ok2 || !ok3 || !ok4 || sum != sealed(checksum(id, data), len(data), nanos, at) {
		return r, &store.CorruptError{Seq: r.Seq, ID: r.ID}
	}
	return r, nil
}
