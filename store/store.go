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
	// Tenant is the owner of the records. It must not be empty; see [DefaultTenant].
	Tenant string
	// Kind is the type of the records, such as "turn", "fact" or "frame". It must not be empty.
	Kind string
	// Stream is the conversation or agent run. It is empty for a kind that has one list.
	Stream string
}

// String returns the key in the form tenant/kind/stream, for messages.
func (k Key) String() string { return k.Tenant + "/" + k.Kind + "/" + k.Stream }

// Record is one entry in the list of a key.
type Record struct {
	// Seq is the sequence number of the record within its key: 1, 2, 3 … in the order of
	// arrival, at most [MaxSeq]. The store assigns it and ignores the value of a caller. It
	// never assigns a number twice, even when records were deleted.
	Seq int64
	// ID is the identity of the record within its key. If it is empty, Append and Put set
	// it to "#" and the sequence number.
	ID string
	// Data is a JSON value. The store does not change its bytes.
	Data json.RawMessage
	// Time is when the record was made, to the nanosecond, in UTC. Zero means now. No
	// order depends on it.
	Time time.Time
}

// Change is a part of an [Store.Apply]: the changes to one key. Deletions come before
// insertions.
type Change struct {
	Key Key
	// Delete lists IDs to delete. Unknown IDs have no effect.
	Delete []string
	// Put lists records to insert, or to replace by ID, as [Store.Put] does.
	Put []Record
	// KeepSeq makes an inserted record keep its Seq if that is greater than every number
	// assigned so far; otherwise it gets the next number. An ID that begins with "#"
	// changes with the number. Imports use this.
	KeepSeq bool
	// IfNewest, if not nil, is the Seq that the newest record of the key must have
	// before the change, 0 for no record. If the newest record has another Seq, Apply
	// changes nothing and returns [ErrConflict].
	IfNewest *int64
	// If lists records that must be there before the change, by ID, with the same data.
	// A record without data only has to be there. Otherwise Apply changes nothing and
	// returns [ErrConflict]. The other fields of the records do not matter.
	If []Record
	// LastSeq raises the last assigned number of the key to at least this value, after
	// the insertions. Imports use this, and callers who store such numbers elsewhere.
	LastSeq int64
}

// Store keeps records. Stores are safe for concurrent use. A store keeps no slice or data
// of a caller, and callers own what it returns.
//
// If a context ends while a call waits, the call returns the context's error and has no
// effect. Every call may return [ErrInvalid] for arguments outside of the limits,
// [ErrClosed], and the errors of the medium: [ErrBusy], [ErrFull], [ErrReadOnly] and
// [ErrCorrupt]. Calls that write may also return [ErrUnknown].
type Store interface {
	// Append adds records to the end of a key and returns the sequence number of the
	// first; the others have the numbers that follow. It returns [ErrExists] if a record
	// with the same ID exists. Without records it returns 0.
	Append(ctx context.Context, key Key, recs ...Record) (first int64, err error)
	// Read returns up to limit records whose Seq is greater than after, in ascending
	// order. Limit 0 means all. A key that does not exist has no records. With a
	// [CorruptError] it returns the records before the damaged one; to continue, read
	// after the Seq of that record.
	Read(ctx context.Context, key Key, after int64, limit int) ([]Record, error)
	// Last returns the newest n records, in ascending order.
	Last(ctx context.Context, key Key, n int) ([]Record, error)
	// Put replaces the data and the time of the record with the same ID, which keeps its
	// Seq. If there is none, it appends the record; an ID that begins with "#" is then
	// [ErrNotFound].
	Put(ctx context.Context, key Key, rec Record) error
	// Get returns the record with that ID, or [ErrNotFound].
	Get(ctx context.Context, key Key, id string) (Record, error)
	// Delete removes records by ID and returns how many it removed.
	Delete(ctx context.Context, key Key, ids ...string) (int, error)
	// Clear removes all records of a key and returns how many it removed. Later records
	// get the numbers after those of the removed ones.
	Clear(ctx context.Context, key Key) (int, error)
	// Apply makes several changes together or not at all. Each must have a different key.
	Apply(ctx context.Context, changes ...Change) error
	// Keys lists the keys of a tenant that have records, sorted by kind and stream. An
	// empty kind means all kinds.
	Keys(ctx context.Context, tenant, kind string) ([]Key, error)
	// Close waits for running calls and releases the store. Calls after it return
	// [ErrClosed]; closing again does nothing.
	Close() error
}

// Counter is a [Store] that reports the last assigned number of its keys. [Export] uses it,
// so that a copy never assigns a number that the original has assigned.
type Counter interface {
	// LastSeqs returns the greatest number that was assigned to each key of a tenant,
	// including keys whose records were all deleted.
	LastSeqs(ctx context.Context, tenant string) (map[Key]int64, error)
}

// Sizer is a [Store] that says how much it keeps. Quotas of tenants use this.
type Sizer interface {
	// Size returns the number of the records of a tenant, and the bytes of their data, without those
	// of some kinds. It looks at all of them, but does not read the data.
	Size(ctx context.Context, tenant string, without ...string) (records, bytes int64, err error)
}

// Lister is a [Store] that lists its tenants.
type Lister interface {
	// Tenants returns the tenants that have collections, or have or had records, sorted.
	Tenants(ctx context.Context) ([]string, error)
}

// AutoID returns the ID of a record that was appended without one.
func AutoID(seq int64) string {
	var b [21]byte // the sign and all digits of a number
	return string(strconv.AppendInt(append(b[:0], '#'), seq, 10))
}

// IsAutoID reports whether an ID is reserved for the store.
func IsAutoID(id string) bool { return id != "" && id[0] == '#' }

// ParseAutoID returns the sequence number in an ID made by [AutoID].
func ParseAutoID(id string) (seq int64, ok bool) {
	if !IsAutoID(id) {
		return 0, false
	}
	seq, err := strconv.ParseInt(id[1:], 10, 64)
	return seq, err == nil && seq > 0 && AutoID(seq) == id
}
