// Package sqlindex implements [retrieve.Index] and [store.FactIndex] on tables of SQL, for every store
// that has such tables. Collections are segments, which are rows, so a search finds the same in the same
// order wherever they lie.
package sqlindex

import (
	"context"
	"database/sql/driver"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"strings"

	"github.com/anchor-host/anchor-host/pipeline/retrieve"
	"github.com/anchor-host/anchor-host/pipeline/retrieve/segment"
	"github.com/anchor-host/anchor-host/store"
)

// Conn is a connection within a transaction. Statements have ? or ?1 for their arguments. Values are of
// the types int64, float64, string, []byte and nil.
type Conn interface {
	// Exec runs a statement. It may run later, but before the next query and the commit.
	Exec(sql string, args ...driver.Value) error
	// Query calls f with every row. f must not keep the row, but may keep the bytes and strings in it.
	Query(sql string, args []driver.Value, f func(row []driver.Value) error) error
}

// Dialect has what differs between databases.
type Dialect struct {
	// Lock comes after a query for the row of a collection or a list that is about to be written.
	Lock string
	// FindTexts has the arguments collection and a JSON list of places. Before each text it returns which of the list
	// it has, from 0.
	// ListTexts and DeleteTexts have the collection, first and last place. InsertText has the collection, the
	// place, the checksum and the data. RemoveTexts has the collection.
	FindTexts, ListTexts, DeleteTexts, InsertText, RemoveTexts string
	// HasTag is the condition that the column tags, which has a JSON list, has the argument. HasTags takes its
	// place where a statement is kept after it ran: its argument is a JSON list of tags, of which all must be there.
	HasTag, HasTags string
	// Numbers returns the first of n numbers for documents that follow each other, which the collection
	// never had.
	Numbers func(c Conn, collection int64, n int) (first int64, err error)
}

// Options are what the index needs of the store in which it lies.
type Options struct {
	Dialect Dialect
	// Cache is how many bytes of collections are kept in memory between searches.
	Cache int64
	// Snapshot calls f with a connection that sees one state of the store, as a tenant.
	Snapshot func(ctx context.Context, tenant string, f func(Conn) error) error
	// Write calls f in a transaction, as a tenant. f may run twice. size is that of the data in bytes;
	// deletes means that f only deletes.
	Write func(ctx context.Context, tenant string, size int, deletes bool, f func(Conn) error) error
	// Fail adds the store and the operation to an error.
	Fail func(err error, format string, args ...any) error
	// Fact reads the record of a fact, nil if there is none.
	Fact func(c Conn, tenant, id string) (*store.Record, error)
	// Facts calls f with the records of a list whose number is greater than after, at most limit, in
	// order. Damaged ones have an error. It returns how many there were, and the number of the last.
	Facts func(c Conn, list, after int64, limit int, f func(store.Record, error)) (n int, last int64, err error)
}

// Index is the [retrieve.Index] of a store.
type Index struct {
	o     Options
	state indexState
}

// Facts is the [store.FactIndex] of a store.
type Facts struct{ x *Index }

var (
	_ retrieve.Index  = (*Index)(nil)
	_ store.FactIndex = (*Facts)(nil)
)

// New returns the index of a store.
func New(o Options) *Index {
	x := &Index{o: o}
	x.state.cache.limit = o.Cache
	return x
}

// Facts returns the index of facts, which shares the memory of the index.
func (x *Index) Facts() *Facts { return &Facts{x} }

// conn is a connection with what this package asks it.
type conn struct {
	Conn
	x *Index
	// lock is that of the dialect in a transaction that writes.
	lock string
}

// number returns the number in the only row of a query; ok is false if there is no row.
func (c *conn) number(sql string, args ...driver.Value) (n int64, ok bool, err error) {
	err = c.Query(sql, args, func(row []driver.Value) error {
		if n, ok = row[0].(int64); !ok {
			return fmt.Errorf("%w: a %T where a number belongs", segment.ErrCorrupt, row[0])
		}
		return nil
	})
	return n, ok, err
}

// tx is a transaction that writes.
type tx struct {
	x    *Index
	conn *conn
}

func (x *Index) tx(c Conn) *tx { return &tx{x, &conn{c, x, x.o.Dialect.Lock}} }

// snapshot calls f with a connection that sees one state of the store.
func (x *Index) snapshot(ctx context.Context, tenant string, f func(*conn) error) error {
	return x.o.Snapshot(ctx, tenant, func(c Conn) error { return f(&conn{c, x, ""}) })
}

// writing runs f in a transaction.
func (x *Index) writing(ctx context.Context, tenant string, size int, f func(*tx) error) error {
	return x.o.Write(ctx, tenant, size, false, func(c Conn) error { return f(x.tx(c)) })
}

// deleting is writing for what only deletes, which goes on when the disk is full.
func (x *Index) deleting(ctx context.Context, tenant string, f func(*tx) error) error {
	return x.o.Write(ctx, tenant, 0, true, func(c Conn) error { return f(x.tx(c)) })
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// sealed adds the size and the place of a text to its checksum.
func sealed(sum uint32, size int, at int64) int64 {
	var b [24]byte
	binary.LittleEndian.PutUint64(b[:], uint64(size))
	binary.LittleEndian.PutUint64(b[16:], uint64(at))
	return int64(crc32.Update(sum, castagnoli, b[:]))
}

// Dollars writes the arguments of a statement as $1, $2 … A statement has either ? or ?1.
func Dollars(sql string) string {
	var b strings.Builder
	for i, n := 0, 0; i < len(sql); i++ {
		switch {
		case sql[i] != '?':
			b.WriteByte(sql[i])
		case i+1 < len(sql) && sql[i+1] >= '1' && sql[i+1] <= '9':
			b.WriteByte('$')
		default:
			n++
			fmt.Fprintf(&b, "$%d", n)
		}
	}
	return b.String()
}
