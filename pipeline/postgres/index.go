package postgres

import (
	"context"
	"database/sql/driver"
	"errors"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/jackc/pgx/v5"

	"github.com/anchor-host/anchor-host/pipeline/internal/sqlindex"
	"github.com/anchor-host/anchor-host/store"
)

// Index is the retrieve.Index of a store. It lies in the database of the store.
type Index = sqlindex.Index

// facts is the [store.FactIndex] of a store.
type facts = sqlindex.Facts

// Index returns the index in the database of the store.
func (s *Store) Index() *Index { return s.index }

var dialect = sqlindex.Dialect{
	Lock: " FOR UPDATE",
	FindTexts: `SELECT n - 1, at, sum, data FROM (SELECT value::bigint AS p, n FROM jsonb_array_elements_text(?2::jsonb) WITH ORDINALITY AS list (value, n)) places, LATERAL (
	SELECT at, sum, data FROM texts WHERE collection = ?1 AND at BETWEEN p >> 20 << 20 AND p ORDER BY at DESC LIMIT 1) text`,
	ListTexts:   "SELECT at, sum, data FROM texts WHERE collection = ? AND at BETWEEN ? AND ? ORDER BY at",
	DeleteTexts: "DELETE FROM texts WHERE collection = ? AND at BETWEEN ? AND ?",
	InsertText:  "INSERT INTO texts (collection, at, sum, data) VALUES (?, ?, ?, ?)",
	RemoveTexts: "DELETE FROM texts WHERE collection = ?",
	// One statement for any number of tags: the client and the server keep each, and the server its plan, of
	// megabytes where there are a thousand conditions.
	HasTags: "tags::jsonb @> ?::jsonb",
	// The collection is locked, so nobody else takes numbers meanwhile.
	Numbers: func(c sqlindex.Conn, collection int64, n int) (first int64, err error) {
		err = c.Query("UPDATE collections SET numbers = numbers + ?1 WHERE id = ?2 RETURNING numbers - ?1 + 1", []driver.Value{int64(n), collection}, func(row []driver.Value) error {
			first, _ = row[0].(int64)
			return nil
		})
		return first, err
	},
}

// makeIndex makes the index of a store that opens.
func (s *Store) makeIndex() {
	s.index = sqlindex.New(sqlindex.Options{
		Dialect: dialect, Cache: s.opts.IndexCache, Snapshot: s.snapshot, Fail: s.fail, Fact: readFact, Facts: readFacts,
		Write: func(ctx context.Context, tenant string, _ int, _ bool, f func(sqlindex.Conn) error) error {
			return s.work(ctx, tenant, f)
		},
	})
	s.facts = s.index.Facts()
}

// most bounds how many statements wait in a connection, and mostBytes the size of their values.
const most, mostBytes = 1000, 4 << 20

// conn is a connection as the index asks it. Statements without result wait until there is a query, so
// that they share a round trip.
type conn struct {
	ctx   context.Context
	c     *pgx.Conn
	later pgx.Batch
	size  int
}

// dollars has the statements in the form of this database.
var dollars sync.Map

func inDollars(sql string) string {
	if s, ok := dollars.Load(sql); ok {
		return s.(string)
	}
	s := sqlindex.Dollars(sql)
	dollars.Store(sql, s)
	return s
}

func anys(args []driver.Value) []any {
	list := make([]any, len(args))
	for i, a := range args {
		if s, ok := a.(string); ok {
			a = storable(s)
		}
		list[i] = a
	}
	return list
}

// storable returns a text that the server takes, in the same place of an order. Names and IDs have neither
// control characters nor bytes that are not UTF-8, but what callers look for may have.
func storable(s string) string {
	if strings.IndexByte(s, 0) < 0 && utf8.ValidString(s) {
		return s
	}
	return strings.ToValidUTF8(strings.ReplaceAll(s, "\x00", "\x01"), "\U0010ffff")
}

func (c *conn) Exec(sql string, args ...driver.Value) error {
	c.later.Queue(inDollars(sql), anys(args)...)
	for _, a := range args {
		if data, ok := a.([]byte); ok {
			c.size += len(data)
		}
	}
	if c.later.Len() < most && c.size < mostBytes {
		return nil
	}
	return c.flush()
}

func (c *conn) flush() error {
	if c.later.Len() == 0 {
		return nil
	}
	b := c.later
	c.later, c.size = pgx.Batch{}, 0
	return c.c.SendBatch(c.ctx, &b).Close()
}

// Query implements [sqlindex.Conn]. It reads all rows before it calls f, which may ask again.
func (c *conn) Query(sql string, args []driver.Value, f func(row []driver.Value) error) error {
	b := c.later
	c.later, c.size = pgx.Batch{}, 0
	var found [][]driver.Value
	b.Queue(inDollars(sql), anys(args)...).Query(func(rows pgx.Rows) error {
		for rows.Next() {
			values, err := rows.Values()
			if err != nil {
				return err
			}
			row := make([]driver.Value, len(values))
			for i, v := range values {
				row[i] = v
			}
			found = append(found, row)
		}
		return rows.Err()
	})
	if err := c.c.SendBatch(c.ctx, &b).Close(); err != nil {
		return err
	}
	for _, row := range found {
		if err := f(row); err != nil {
			return err
		}
	}
	return nil
}

// snapshot calls f with a connection that sees one state of the database.
func (s *Store) snapshot(ctx context.Context, tenant string, f func(sqlindex.Conn) error) error {
	return s.read(ctx, s.reader(ctx), func(ctx context.Context, c *pgx.Conn) (err error) {
		own := &conn{ctx: ctx, c: c}
		own.later.Queue("BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY")
		own.later.Queue(setTenant, tenant)
		defer func() {
			if own.later.Len() > 0 { // nothing was asked
				return
			}
			if _, end := c.Exec(ctx, "ROLLBACK"); err == nil {
				err = end
			}
		}()
		return f(own)
	})
}

// work runs f in a transaction, and again if others make the same collection meanwhile.
func (s *Store) work(ctx context.Context, tenant string, f func(sqlindex.Conn) error) error {
	run := func() error {
		return s.write(ctx, func(ctx context.Context, c *pgx.Conn, begun *bool) error {
			own := &conn{ctx: ctx, c: c}
			own.later.Queue("BEGIN")
			own.later.Queue(setTenant, tenant)
			if err := f(own); err != nil {
				return err
			}
			own.later.Queue("COMMIT")
			*begun = true
			return own.flush()
		})
	}
	return s.again(ctx, run, func(err error) bool { return code(err) == codeUnique })
}

// readFact reads the record of a fact, nil if there is none.
func readFact(c sqlindex.Conn, tenant, id string) (found *store.Record, err error) {
	query, arg, possible := byID(id)
	if !possible {
		return nil, nil
	}
	err = c.Query(query, []driver.Value{tenant, store.KindFact, "", arg}, func(row []driver.Value) error {
		r, err := scanValues(row)
		found = &r
		return err
	})
	return found, err
}

const listRecords = "SELECT seq, id, time, sum, data FROM records WHERE list = $1 AND seq > $2 ORDER BY seq LIMIT $3"

// readFacts reads records of a list in order.
func readFacts(c sqlindex.Conn, list, after int64, limit int, f func(store.Record, error)) (n int, last int64, err error) {
	err = c.Query(listRecords, []driver.Value{list, after, int64(limit)}, func(row []driver.Value) error {
		r, err := scanValues(row)
		n, last = n+1, r.Seq
		f(r, err)
		return nil
	})
	return n, last, err
}

// scanValues is scan for values.
func scanValues(row []driver.Value) (store.Record, error) {
	seq, ok := row[0].(int64)
	id, _ := row[1].(string)
	nanos, ok2 := row[2].(int64)
	sum, ok3 := row[3].(int64)
	data, ok4 := row[4].([]byte)
	if !ok || !ok2 || !ok3 || !ok4 {
		return store.Record{}, errors.New("a row of records has other types")
	}
	return sealedRecord(seq, id, nanos, sum, data)
}
