package store

import (
	"errors"
	"fmt"

	"github.com/anchor-host/anchor-host/internal/decode"
)

// Errors that callers decide on. The errors of a store wrap them.
var (
	// ErrNotFound marks a record that is not there.
	ErrNotFound = errors.New("not found")
	// ErrExists marks an append under an ID that is taken.
	ErrExists = errors.New("already exists")
	// ErrConflict marks a change whose condition does not hold, because of what others
	// have written. Nothing was written.
	ErrConflict = errors.New("changed meanwhile")
	// ErrInvalid marks a key, record or argument outside its limits.
	ErrInvalid = decode.ErrInvalid
	// ErrClosed marks a call on a closed store.
	ErrClosed = errors.New("store is closed")
	// ErrBusy marks a wait for another process that took too long. Nothing was written.
	ErrBusy = errors.New("store is busy")
	// ErrFull marks a medium, or a key, without room. Nothing was written.
	ErrFull = errors.New("store is full")
	// ErrReadOnly marks a medium that cannot be written.
	ErrReadOnly = errors.New("store is read-only")
	// ErrCorrupt marks content that is not what was written.
	ErrCorrupt = errors.New("store is corrupt")
	// ErrVersion marks a store written by a newer version of this program.
	ErrVersion = errors.New("store is of a newer version")
	// ErrUnknown marks a write that was begun and whose end was not seen: it may be
	// there, whole, or not at all. Reading tells.
	ErrUnknown = errors.New("outcome unknown")
)

// CorruptError is one record that is not what was written, an [ErrCorrupt]. The records
// beside it can be read, and it can be deleted by its ID.
type CorruptError struct {
	// Seq is the place of the record within its key, 0 if it is not known.
	Seq int64
	// ID is the identity of the record.
	ID string
}

// Error names the record and what to do.
func (e *CorruptError) Error() string {
	return fmt.Sprintf("%v: record %.100q is not what was written (delete it, or restore a backup)", ErrCorrupt, e.ID)
}

// Unwrap returns [ErrCorrupt].
func (e *CorruptError) Unwrap() error { return ErrCorrupt }
