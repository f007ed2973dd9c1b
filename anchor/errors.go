package anchor

import (
	"errors"
	"fmt"

	"github.com/anchor-host/anchor-host/internal/agentstore"
	"github.com/anchor-host/anchor-host/internal/config"
	"github.com/anchor-host/anchor-host/internal/errkind"
	"github.com/anchor-host/anchor-host/internal/sharing"
	"github.com/anchor-host/anchor-host/internal/strict"
	"github.com/anchor-host/anchor-host/store"
)

// ErrInvalid marks an invalid configuration, option or request. Trying again does not help.
var ErrInvalid = config.ErrInvalid

// ErrClosed is the error of an [App] that was closed, and of what it returned before, such
// as a [Run] whose store was closed with it. It is store.ErrClosed.
var ErrClosed = store.ErrClosed

// ErrOwned marks a conversation or a run that belongs to another user. Trying again does not help.
var ErrOwned = agentstore.ErrOwned

// ErrShared marks a write to a collection that another tenant owns, who shares it for reading. Trying again
// does not help.
var ErrShared = sharing.ErrOwned

// owned marks what belongs to another user as [ErrInvalid] too.
func owned(err error) error {
	if errors.Is(err, ErrOwned) {
		return errkind.As(ErrInvalid, err)
	}
	return err
}

// errAppClosed is the error of an App that was closed.
var errAppClosed = fmt.Errorf("anchor: the App was closed: %w", ErrClosed)

// invalid is an error that lists the problems of a document.
type invalid struct{ strict.Problems }

// Unwrap returns the problems and [ErrInvalid].
func (i invalid) Unwrap() []error { return []error{i.Problems, ErrInvalid} }

// wrong marks problems of a document as [ErrInvalid].
func wrong(err error) error {
	var problems strict.Problems
	if errors.As(err, &problems) {
		return invalid{problems}
	}
	return err
}

// excluded is the error of two options that cannot be given together.
func excluded(a, b string) error {
	return fmt.Errorf("%w: %s and %s exclude each other (keep one)", ErrInvalid, a, b)
}
