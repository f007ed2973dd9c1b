package store

import (
	"errors"
	"fmt"

	"github.com/anchor-host/anchor-host/internal/decode"
)

// Errors that callers can test for with errors.Is. The errors of a store wrap them.
var (
	// ErrNotFound means that a record does not exist.
	ErrNotFound = errors.New("not found")
	// ErrExists means that an appended record has the ID of an existing one.
	ErrExists = errors.New("already exists")
	// ErrConflict means that the condition of a change does not hold, because somebody
	// else has written. Nothing was written.
	ErrConflict = errors.New("changed meanwhile")
	// ErrInvalid means that a key, record or argument is outside its limits.
	ErrInvalid = decode.ErrInvalid
	// ErrClosed means that the store was closed before the call.
	ErrClosed = errors.New("store is closed")
	// ErrBusy means that another process kept the store locked for too long, or that the server of the store
	// does not answer. Nothing was written.
	ErrBusy = errors.New("store is busy")
	// ErrFull means that the medium, or a key, has no room. Nothing was written.
	ErrFull = errors.New("store is full")
	// ErrReadOnly means that the medium cannot be written.
	ErrReadOnly = errors.New("store is read-only")
	// ErrCorrupt means that the content is not what was written.
	ErrCorrupt = errors.New("store is corrupt")
	// ErrVersion means that a newer version of this program has written the store.
	ErrVersion = errors.New("store has a newer version")
	// ErrUnknown means that a write had begun and the store does not know whether it
	// succeeded: all of it was written, or nothing. Read to find out. See [Partly] for the one exception.
	ErrUnknown = errors.New("outcome unknown")
	// ErrSkip is not the error of a store: a [Check] returns it to leave out a line of an import.
	ErrSkip = errors.New("left out")
)

// Partly returns the error of a deletion that takes several writes. If some of them are done, the error is
// [ErrUnknown], because [ErrBusy] and [ErrFull] say that nothing was written. To delete again is safe.
func Partly(done bool, err error) error {
	if err == nil || !done || errors.Is(err, ErrUnknown) {
		return err
	}
	return fmt.Errorf("%w: a part is deleted (delete it again): %w", ErrUnknown, err)
}

// CorruptError reports one record that is not what was written. It wraps [ErrCorrupt]. Other
// records can still be read, and this one can be deleted by its ID.
type CorruptError struct {
	// Seq is the sequence number of the record, 0 if it is unknown.
	Seq int64
	// ID is the identity of the record.
	ID string
}

// Error names the record and the remedy.
func (e *CorruptError) Error() string {
	return fmt.Sprintf("%v: record %.100q is not what was written (delete it, or restore a backup)", ErrCorrupt, e.ID)
}

// Unwrap returns [ErrCorrupt].
func (e *CorruptError) Unwrap() error { return ErrCorrupt }
