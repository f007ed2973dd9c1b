package store

import (
	"context"
	"encoding/json"
	"strconv"
	"time"
)

// DefaultTenant is the tenant of a store that serves one user.
const DefaultTenant = "default"

// Key names an ordered list of records. Tenants never see each other's records.
type Key struct {
	// Tenant is whose records these are. Required; see [DefaultTenant].
	Tenant string
	// Kind says what the records are: "turn", "fact", "frame". Required.
	Kind string
	// Stream is the conversation or agent run, or empty for a kind that has one list.
	Stream string
}

// String is the key for messages: tenant/kind/stream.
func (k Key) String() string { return k.Tenant + "/" + k.Kind + "/" + k.Stream }

// Record is one entry of a key.
type Record struct {
	// Seq is the place of the record within its key: 1, 2, 3 … in the order of arrival,
	// at most [MaxSeq]. The store gives it, whatever a caller says, and never gives it
	// twice, even when records were deleted.
	Seq int64
	// ID is the identity of the record within its key. Empty in Append and Put: "#"
	// and the sequence number.
	ID string
	// Data is a JSON value, kept byte for byte.
	Data json.RawMessage
	// Time is when the record was made, to the nanosecond, in UTC. Zero: now. No
	// order depends on it.
	Time time.Time
}

// Change is a part of an [Store.Apply]: what changes in one key. Deletions come
// before insertions.
type Change struct {
	Key Key
	// Delete lists IDs to delete. IDs that are not there are fine.
	Delete []string
	// Put lists records to insert, or to replace by ID, as [Store.Put] does.
	Put []Record
	// KeepSeq lets an inserted record have the Seq it says, if that is greater than
	// every number the key has given; it gets the next one otherwise. Its ID, if it
	// begins with "#", follows its new number. This is for imports.
	KeepSeq bool
	// IfNewest, if not nil, is the Seq that the newest record of the key must have
	// before the change, 0 for no record. If it has another one, nothing changes and
	// the error is [ErrConflict].
	IfNewest *int64
	// LastSeq raises the last number that the key has given to at least this, after
	// the insertions. This is for imports, and for numbers that others rely on.
	LastSeq int64
}

// Store keeps records. Stores are safe for concurrent use. Slices and data that are
// given to a store or returned by it are the caller's own.
//
// A context that ends while a call waits ends the call with the context's error and
// without effect. Every call may return [ErrInvalid] for arguments outside the
// limits, [ErrClosed], and the errors of the medium: [ErrBusy], [ErrFull],
// [ErrReadOnly], [ErrCorrupt]; calls that write also [ErrUnknown].
type Store interface {
	// Append adds records to the end of a key and returns the sequence number of the
	// first; the others follow without a gap. [ErrExists] if a record of that ID is
	// there. No records: returns 0.
	Append(ctx context.Context, key Key, recs ...Record) (first int64, err error)
	// Read returns up to limit records whose Seq is greater than after, ascending.
	// Limit 0: all of them. A key that does not exist has no records. With a
	// [CorruptError] it returns the records before that one; to go on, read after its Seq.
	Read(ctx context.Context, key Key, after int64, limit int) ([]Record, error)
	// Last returns the newest n records, ascending.
	Last(ctx context.Context, key Key, n int) ([]Record, error)
	// Put replaces the data and the time of the record with the same ID, which keeps
	// its Seq, or else appends the record. [ErrNotFound] if an ID that begins with
	// "#" is not there.
	Put(ctx context.Context, key Key, rec Record) error
	// Get returns the record with that ID, or [ErrNotFound].
	Get(ctx context.Context, key Key, id string) (Record, error)
	// Delete removes records by ID and returns how many there were.
	Delete(ctx context.Context, key Key, ids ...string) (int, error)
	// Clear removes all records of a key and returns how many there were. Sequence
	// numbers go on from where they were.
	Clear(ctx context.Context, key Key) (int, error)
	// Apply makes several changes together or not at all. Each is of another key.
	Apply(ctx context.Context, changes ...Change) error
	// Keys lists the keys of a tenant that hold records, of one kind or, if kind is
	// empty, of all, sorted by kind and stream.
	Keys(ctx context.Context, tenant, kind string) ([]Key, error)
	// Close waits for running calls and releases the store. Calls after it return
	// [ErrClosed]; closing again does nothing.
	Close() error
}

// Counter is a [Store] that tells how far the numbers of its keys go. [Export] uses
// it, so that a copy never gives a number again that the original has given.
type Counter interface {
	// LastSeqs returns the greatest number that each key of a tenant has given, also
	// where all of its records were deleted.
	LastSeqs(ctx context.Context, tenant string) (map[Key]int64, error)
}

// AutoID is the ID of a record that was appended without one.
func AutoID(seq int64) string {
	var b [21]byte // the sign and all digits of a number
	return string(strconv.AppendInt(append(b[:0], '#'), seq, 10))
}

// IsAutoID tells whether an ID is one that only the store gives.
func IsAutoID(id string) bool { return id != "" && id[0] == '#' }

// ParseAutoID returns the sequence number that an ID made by [AutoID] names.
func ParseAutoID(id string) (seq int64, ok bool) {
	if !IsAutoID(id) {
		return 0, false
	}
	seq, err := strconv.ParseInt(id[1:], 10, 64)
	return seq, err == nil && seq > 0 && AutoID(seq) == id
}
