package sqlite

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"slices"
	"sync/atomic"
	"time"

	"github.com/anchor-host/anchor-host/store"
)

// request is a write that waits for the writer.
type request struct {
	changes []change
	work    func(*tx) error // instead of changes; it may run twice
	deletes bool            // work only deletes
	size    int             // of the data, in bytes
	since   time.Time
	state   atomic.Int32
	done    chan struct{} // closed when the fields below are final

	err   error
	first int64 // seq of the first record of an append
	count int   // of records deleted
}

// The states of a request. Only its caller changes queued to abandoned, and only the writer
// changes queued to taken.
const (
	queued = iota
	taken
	abandoned
)

func (r *request) take() bool    { return r.state.CompareAndSwap(queued, taken) }
func (r *request) abandon() bool { return r.state.CompareAndSwap(queued, abandoned) }

func (r *request) finish(err error) {
	r.err = err
	close(r.done)
}

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
	sum  uint32 // of id and data
}

func newRequest(changes ...change) *request {
	r := &request{changes: changes, since: time.Now(), done: make(chan struct{})}
	for i := range changes {
		for j := range changes[i].put {
			r.size += len(changes[i].put[j].data)
		}
	}
	return r
}

// erases reports whether the request deletes and adds nothing.
func (r *request) erases() bool {
	return r.deletes || r.work == nil && !slices.ContainsFunc(r.changes, func(c change) bool { return len(c.put) > 0 || c.last > 0 })
}

// newRows copies records. When its context ends, a caller may reuse its slices while the
// writer is still working.
func newRows(recs []store.Record) []row {
	now := time.Now()
	rows := make([]row, len(recs))
	for i := range recs {
		r := &recs[i]
		at := r.Time
		if at.IsZero() {
			at = now
		}
		rows[i] = row{id: r.ID, seq: r.Seq, time: at.UnixNano(), data: bytes.Clone(r.Data)}
		rows[i].sum = checksum(storedID(r.ID), rows[i].data)
	}
	return rows
}

// sealed returns the checksum of a row at a place.
func (r *row) sealed(at int64) int64 { return sealed(r.sum, len(r.data), r.time, at) }

// storedID returns the ID that the file stores: nothing for an ID that is derived from the
// sequence number.
func storedID(id string) string {
	if store.IsAutoID(id) {
		return ""
	}
	return id
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// checksum covers the content of a record; sealed adds the time and the place of the record.
func checksum(id string, data []byte) uint32 {
	return crc32.Update(crc32.Checksum(data, castagnoli), castagnoli, []byte(id))
}

func sealed(sum uint32, size int, nanos, at int64) int64 {
	var b [24]byte
	binary.LittleEndian.PutUint64(b[:], uint64(size))
	binary.LittleEndian.PutUint64(b[8:], uint64(nanos))
	binary.LittleEndian.PutUint64(b[16:], uint64(at))
	return int64(crc32.Update(sum, castagnoli, b[:]))
}
