package sqlite

import (
	"fmt"

	lib "modernc.org/sqlite/lib"

	"github.com/anchor-host/anchor-host/pipeline/store"
)

const (
	// seqBits is how much of a record's place is its sequence number.
	seqBits = 32
	seqMask = 1<<seqBits - 1
	// maxHeads bounds the memory of lists that were written to.
	maxHeads = 4096
)

// head is where a list is and how far it goes.
type head struct {
	id    int64
	last  int64
	dirty bool
}

func (h *head) place(seq int64) int64 { return h.id<<seqBits | seq }

// tx is the writer's transactions, one after another. What it knows of lists holds
// from one to the next as long as no other process has written.
type tx struct {
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
		// The log may have it all and only its sync have failed: a crash now would
		// bring it back.
		return fmt.Errorf("%w: %w", store.ErrUnknown, err)
	}
	return err
}

// rollback ends a transaction that failed. A connection that cannot even do that is
// not used again.
func (t *tx) rollback() {
	t.forget()
	if t.conn == nil {
		return
	}
	// SQLITE_ERROR: SQLite has rolled back already.
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
