package sqlite

import (
	"fmt"

	lib "modernc.org/sqlite/lib"

	"github.com/anchor-host/anchor-host/store"
)

const (
	// seqBits is the number of bits of a record's place that hold its sequence number.
	seqBits = 32
	seqMask = 1<<seqBits - 1
	// maxHeads bounds the number of lists whose heads the writer remembers.
	maxHeads = 4096
)

// head is the id of a list and its last number.
type head struct {
	id    int64
	last  int64
	dirty bool
}

func (h *head) place(seq int64) int64 { return h.id<<seqBits | seq }

// tx runs the transactions of the writer, one after another. It remembers the heads of lists
// from one to the next, as long as no other process has written.
type tx struct {
	store   *Store
	conn    *conn
	heads   map[store.Key]*head
	changed []*head
	seen    int64 // data_version that heads belong to
}

func (t *tx) begin() error {
	if _, err := t.conn.exec("BEGIN IMMEDIATE"); err != nil {
		return err
	}
	v, _, err := t.conn.number("PRAGMA data_version")
	if err == nil && v != t.seen {
		_, err = version(t.conn) // what a newer program keeps beside a record would be missing
	}
	if err != nil {
		t.rollback()
		return err
	}
	if t.heads == nil || v != t.seen || len(t.heads) > maxHeads {
		t.forget()
		t.seen = v
	}
	return nil
}

func (t *tx) commit() error {
	for _, h := range t.changed {
		if _, err := t.conn.exec(updateList, h.last, h.id); err != nil {
			return err
		}
		h.dirty = false
	}
	t.changed = t.changed[:0]
	_, err := t.conn.exec("COMMIT")
	if primary(err) == lib.SQLITE_IOERR {
		// The log may contain the whole transaction when only its sync failed: after a
		// crash it would then be there.
		return fmt.Errorf("%w: %w", store.ErrUnknown, err)
	}
	return err
}

// rollback ends a transaction that failed. If the connection cannot even do that, it is
// not used again.
func (t *tx) rollback() {
	t.forget()
	if t.conn == nil {
		return
	}
	// SQLITE_ERROR means that SQLite has rolled back already.
	if _, err := t.conn.exec("ROLLBACK"); err != nil && primary(err) != lib.SQLITE_ERROR {
		_ = t.conn.close()
		t.conn = nil
	}
}

func (t *tx) forget() {
	t.heads = make(map[store.Key]*head)
	t.changed = t.changed[:0]
}

func (t *tx) close() error {
	if t.conn == nil {
		return nil
	}
	return t.conn.close()
}
