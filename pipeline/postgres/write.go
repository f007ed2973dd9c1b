package postgres

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/anchor-host/anchor-host/pipeline/internal/sqlindex"
	"github.com/anchor-host/anchor-host/store"
)

// change is a [store.Change] in the form that is written.
type change struct {
	key     store.Key
	clear   bool
	delete  []string
	put     []row
	append  bool // an ID that is there is an error
	keepSeq bool
	newest  *int64 // condition: the seq of the newest record
	same    []row  // condition: these are there, with these data if they have any
	last    int64  // the last number is at least this after the change
}

// row is a [store.Record] in the form that is written.
type row struct {
	id   string
	seq  int64
	time int64
	data []byte
}

// newRows copies records.
func newRows(recs []store.Record) []row {
	now := time.Now()
	rows := make([]row, len(recs))
	for i := range recs {
		at := recs[i].Time
		if at.IsZero() {
			at = now
		}
		rows[i] = row{id: recs[i].ID, seq: recs[i].Seq, time: at.UnixNano(), data: recs[i].Data}
	}
	return rows
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// checksum covers the content of a record with its own ID, "" for one of the store.
func checksum(id string, nanos int64, data []byte) int64 {
	var b [16]byte
	binary.LittleEndian.PutUint64(b[:], uint64(len(data)))
	binary.LittleEndian.PutUint64(b[8:], uint64(nanos))
	sum := crc32.Update(crc32.Checksum(data, castagnoli), castagnoli, []byte(id))
	return int64(crc32.Update(sum, castagnoli, b[:]))
}

// columns are rows in the form that the server takes: one list for each column.
type columns struct {
	seqs, times, sums []int64
	ids               []string
	data              [][]byte
}

func (c *columns) add(seq int64, r *row) {
	id := r.id
	if store.IsAutoID(id) {
		id = ""
	}
	c.seqs, c.ids, c.times = append(c.seqs, seq), append(c.ids, id), append(c.times, r.time)
	c.sums, c.data = append(c.sums, checksum(id, r.time, r.data)), append(c.data, r.data)
}

const (
	insertRows = `INSERT INTO records (list, seq, id, time, sum, data)
		SELECT l.id, l.last - $4::bigint + v.n, nullif(v.id, ''), v.time, v.sum, v.data
		FROM l, unnest($5::text[], $6::bigint[], $7::bigint[], $8::bytea[]) WITH ORDINALITY AS v(id, time, sum, data, n)`
	// appendRows appends to a list that is there, newRows to one that may be new.
	appendRows = `WITH l AS (UPDATE lists SET last = last + $4::bigint WHERE tenant = $1 AND kind = $2 AND stream = $3 RETURNING id, last),
		r AS (` + insertRows + `) SELECT last FROM l`
	appendFirst = `WITH l AS (INSERT INTO lists (tenant, kind, stream, last) VALUES ($1, $2, $3, $4::bigint)
		ON CONFLICT (tenant, kind, stream) DO UPDATE SET last = lists.last + $4::bigint RETURNING id, last),
		r AS (` + insertRows + `) SELECT last FROM l`
)

// Append implements [store.Store].
func (s *Store) Append(ctx context.Context, key store.Key, recs ...store.Record) (first int64, err error) {
	if err = store.ValidateAppend(key, recs); err == nil {
		switch {
		case len(recs) == 0:
			err = s.usable(ctx)
		case sqlindex.IsFacts(key):
			var done outcome
			done, err = s.changes(ctx, change{key: key, put: newRows(recs), append: true})
			first = done.first
		default:
			first, err = s.append(ctx, key, newRows(recs))
		}
	}
	if err != nil {
		return 0, s.fail(err, "append to %s", key)
	}
	return first, nil
}

// append adds rows in one round trip: the statements up to the end of a batch are one transaction.
func (s *Store) append(ctx context.Context, key store.Key, rows []row) (int64, error) {
	var cols columns
	for i := range rows {
		cols.add(0, &rows[i])
	}
	n := int64(len(rows))
	last := int64(0)
	send := func(statement string) error {
		return s.write(ctx, func(ctx context.Context, c *pgx.Conn, begun *bool) error {
			var b pgx.Batch
			b.Queue(setTenant, key.Tenant)
			b.Queue(statement, key.Tenant, key.Kind, key.Stream, n, cols.ids, cols.times, cols.sums, cols.data).QueryRow(func(r pgx.Row) error { return r.Scan(&last) })
			*begun = true
			return c.SendBatch(ctx, &b).Close()
		})
	}
	err := send(appendRows)
	if errors.Is(err, pgx.ErrNoRows) { // the first append to this key
		err = send(appendFirst)
	}
	switch code(err) {
	case codeUnique:
		return 0, s.taken(ctx, key, rows)
	case codeCheck:
		return 0, errNumbers
	}
	return last - n + 1, err
}

// Put implements [store.Store].
func (s *Store) Put(ctx context.Context, key store.Key, rec store.Record) error {
	err := store.ValidateChanges([]store.Change{{Key: key, Put: []store.Record{rec}}})
	if err == nil {
		_, err = s.changes(ctx, change{key: key, put: newRows([]store.Record{rec})})
	}
	if err != nil {
		return s.fail(err, "put into %s", key)
	}
	return nil
}

// Delete implements [store.Store].
func (s *Store) Delete(ctx context.Context, key store.Key, ids ...string) (n int, err error) {
	if err = store.ValidateChanges([]store.Change{{Key: key, Delete: ids}}); err == nil {
		var done outcome
		done, err = s.changes(ctx, change{key: key, delete: ids})
		n = done.deleted
	}
	if err != nil {
		return 0, s.fail(err, "delete from %s", key)
	}
	return n, nil
}

// Clear implements [store.Store].
func (s *Store) Clear(ctx context.Context, key store.Key) (n int, err error) {
	if err = key.Validate(); err == nil {
		var done outcome
		done, err = s.changes(ctx, change{key: key, clear: true})
		n = done.deleted
	}
	if err != nil {
		return 0, s.fail(err, "clear %s", key)
	}
	return n, nil
}

// Apply implements [store.Store].
func (s *Store) Apply(ctx context.Context, changes ...store.Change) error {
	err := store.ValidateChanges(changes)
	if err == nil {
		own := make([]change, len(changes))
		for i, c := range changes {
			own[i] = change{key: c.Key, delete: c.Delete, put: newRows(c.Put), keepSeq: c.KeepSeq, newest: c.IfNewest, same: newRows(c.If), last: c.LastSeq}
		}
		_, err = s.changes(ctx, own...)
	}
	if err != nil {
		return s.fail(err, "apply changes")
	}
	return nil
}

// usable returns the error that a call without work has.
func (s *Store) usable(ctx context.Context) error {
	if s.closed.Load() {
		return store.ErrClosed
	}
	return ctx.Err()
}

// empty reports whether a change has no effect and no condition.
func (c *change) empty() bool {
	return !c.clear && len(c.put) == 0 && len(c.delete) == 0 && c.newest == nil && len(c.same) == 0 && c.last == 0
}

// matches reports whether the data of a record are those of a condition.
func (r *row) matches(data []byte) bool { return r.data == nil || bytes.Equal(r.data, data) }
