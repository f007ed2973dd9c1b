package sqlite

import (
	"context"
	"database/sql/driver"
	"errors"

	"github.com/anchor-host/anchor-host/pipeline/internal/sqlindex"
	"github.com/anchor-host/anchor-host/store"
)

// Index is the retrieve.Index of a store. It lies in the file of the store.
type Index = sqlindex.Index

// facts is the [store.FactIndex] of a store.
type facts = sqlindex.Facts

// Index returns the index in the file of the store.
func (s *Store) Index() *Index { return s.index }

// dialect has the statements of this form of the tables. Texts are found by their place alone.
var dialect = sqlindex.Dialect{
	FindTexts: `SELECT p.key, t.at, t.sum, t.data FROM json_each(?2) p CROSS JOIN texts t
	ON t.at = (SELECT max(at) FROM texts WHERE at BETWEEN p.value >> 20 << 20 AND p.value)`,
	ListTexts:   "SELECT at, sum, data FROM texts WHERE at BETWEEN ?2 AND ?3 ORDER BY at",
	DeleteTexts: "DELETE FROM texts WHERE at BETWEEN ?2 AND ?3",
	InsertText:  "INSERT INTO texts (at, sum, data) VALUES (?2, ?3, ?4)",
	RemoveTexts: "DELETE FROM texts WHERE at IN (SELECT t.at FROM documents d JOIN texts t ON t.at BETWEEN d.num << 20 AND (d.num << 20) + 1048575 WHERE d.collection = ?)",
	HasTag:      "EXISTS (SELECT 1 FROM json_each(tags) WHERE value = ?)",
	Numbers: func(c sqlindex.Conn, _ int64, _ int) (first int64, err error) {
		first = 1
		err = c.Query("SELECT seq + 1 FROM sqlite_sequence WHERE name = 'documents'", nil, func(row []driver.Value) error {
			first, _ = row[0].(int64)
			return nil
		})
		return first, err
	},
}

const scanRecords = "SELECT at, id, time, sum, data FROM records WHERE at > ? AND at <= ? ORDER BY at LIMIT ?"

// makeIndex makes the index of a store that opens.
func (s *Store) makeIndex() {
	s.index = sqlindex.New(sqlindex.Options{
		Dialect: dialect, Cache: s.opts.IndexCache, Snapshot: s.snapshot, Fail: s.fail, Fact: readFact, Facts: readFacts,
		Write: func(ctx context.Context, _ string, size int, deletes bool, f func(sqlindex.Conn) error) error {
			r := newRequest()
			r.work, r.size, r.deletes = func(t *tx) error { return f(asked{t.conn}) }, size, deletes
			return s.write(ctx, r)
		},
	})
	s.facts = s.index.Facts()
}

// asked is a connection as the index asks it.
type asked struct{ *conn }

func (c asked) Exec(sql string, args ...driver.Value) error {
	_, err := c.exec(sql, args...)
	return err
}

func (c asked) Query(sql string, args []driver.Value, f func(row []driver.Value) error) error {
	return c.query(sql, args, f)
}

// snapshot calls f with a connection that sees one state of the file.
func (s *Store) snapshot(ctx context.Context, _ string, f func(sqlindex.Conn) error) error {
	c, err := s.acquire(ctx)
	if err != nil {
		return err
	}
	if _, err = c.exec("BEGIN"); err == nil {
		err = f(asked{c})
		if _, end := c.exec("COMMIT"); end != nil {
			_ = c.close() // a connection that cannot end its transaction is of no use
			s.readers.put(nil)
			return errors.Join(err, end)
		}
	}
	s.release(c, err)
	return err
}

// readFact reads the record of a fact, nil if there is none.
func readFact(c sqlindex.Conn, tenant, id string) (found *store.Record, err error) {
	query, first := readID, driver.Value(id)
	if seq, auto := store.ParseAutoID(id); auto {
		query, first = readSeq, seq
	}
	err = c.Query(query, []driver.Value{first, tenant, store.KindFact, ""}, func(row []driver.Value) error {
		r, err := scan(row)
		found = &r
		return err
	})
	return found, err
}

// readFacts reads records of a list in order.
func readFacts(c sqlindex.Conn, list, after int64, limit int, f func(store.Record, error)) (n int, last int64, err error) {
	h := head{id: list}
	err = c.Query(scanRecords, []driver.Value{h.place(after), h.place(seqMask), int64(limit)}, func(row []driver.Value) error {
		r, err := scan(row)
		n, last = n+1, r.Seq
		f(r, err)
		return nil
	})
	return n, last, err
}
