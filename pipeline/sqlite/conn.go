package sqlite

import (
	"cmp"
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"time"

	"modernc.org/sqlite"

	"github.com/anchor-host/anchor-host/store"
)

// conn is a connection that keeps its statements prepared. It belongs to one goroutine at a
// time. It uses the driver directly. The pool of database/sql opens connections and retries
// on its own, so it can neither keep the transactions of many callers together nor report
// their outcome.
type conn struct {
	dc    driver.Conn
	stmts map[string]driver.Stmt
	row   []driver.Value
	args  []driver.NamedValue
}

// openConn opens an existing file by its URI and makes the settings of every connection.
func openConn(uri string, pragmas ...string) (*conn, error) {
	dc, err := (&sqlite.Driver{}).Open(uri)
	if err != nil {
		return nil, err
	}
	c := &conn{dc: dc, stmts: make(map[string]driver.Stmt)}
	for _, p := range pragmas {
		if err := c.once("PRAGMA " + p); err != nil {
			_ = c.close() // the first error says it all
			return nil, err
		}
	}
	return c, nil
}

// busyPragma makes SQLite wait for locks of other connections.
func busyPragma(d time.Duration) string {
	return fmt.Sprintf("busy_timeout = %d", d.Milliseconds())
}

func (c *conn) close() error {
	var errs []error
	for _, s := range c.stmts {
		errs = append(errs, s.Close())
	}
	clear(c.stmts)
	return errors.Join(append(errs, c.dc.Close())...)
}

// once runs a script without keeping it prepared.
func (c *conn) once(script string) error {
	_, err := c.dc.(driver.ExecerContext).ExecContext(context.Background(), script, nil)
	return err
}

// exec runs a statement and returns how many rows it changed.
//
// exec and query do not pass a context to the driver: interrupting a statement within a
// transaction would leave open whether the writes of other callers succeeded.
func (c *conn) exec(sql string, args ...driver.Value) (int, error) {
	s, err := c.prepare(sql)
	if err != nil {
		return 0, err
	}
	res, err := s.(driver.StmtExecContext).ExecContext(context.Background(), c.named(args))
	if err != nil {
		return 0, err
	}
	n, err := res.RowsAffected()
	return int(n), err
}

// query calls f with every row. f must not keep the row, but may keep the bytes and strings
// in it.
func (c *conn) query(sql string, args []driver.Value, f func(row []driver.Value) error) (err error) {
	s, err := c.prepare(sql)
	if err != nil {
		return err
	}
	rows, err := s.(driver.StmtQueryContext).QueryContext(context.Background(), c.named(args))
	if err != nil {
		return err
	}
	defer func() { err = cmp.Or(err, rows.Close()) }()
	n := len(rows.Columns())
	if cap(c.row) < n {
		c.row = make([]driver.Value, n)
	}
	row := c.row[:n]
	for {
		if err := rows.Next(row); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		if err := f(row); err != nil {
			return err
		}
	}
}

// number returns the number in the only row of a query; ok is false if there is no row.
func (c *conn) number(sql string, args ...driver.Value) (n int64, ok bool, err error) {
	err = c.query(sql, args, func(row []driver.Value) error {
		n, ok = row[0].(int64)
		if !ok {
			return fmt.Errorf("%w: a %T where a number belongs", store.ErrCorrupt, row[0])
		}
		return nil
	})
	return n, ok, err
}

// text returns the text in the only row of a query.
func (c *conn) text(sql string) (s string, err error) {
	err = c.query(sql, nil, func(row []driver.Value) error {
		s, _ = row[0].(string)
		return nil
	})
	return s, err
}

func (c *conn) prepare(sql string) (driver.Stmt, error) {
	if s := c.stmts[sql]; s != nil {
		return s, nil
	}
	s, err := c.dc.(driver.ConnPrepareContext).PrepareContext(context.Background(), sql)
	if err != nil {
		return nil, err
	}
	c.stmts[sql] = s
	return s, nil
}

func (c *conn) named(args []driver.Value) []driver.NamedValue {
	c.args = c.args[:0]
	for i, a := range args {
		c.args = append(c.args, driver.NamedValue{Ordinal: i + 1, Value: a})
	}
	return c.args
}
