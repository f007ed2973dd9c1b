// Package kind has the kinds of errors of package registry, which its internal packages share.
package kind

import (
	"errors"

	"github.com/anchor-host/anchor-host/internal/plain"
)

// The kinds that more than one package uses; registry exports them under names with Err.
var (
	ErrUnreachable = errors.New("no usable answer")
	ErrRedirect    = errors.New("refused redirect")
	ErrTooLarge    = errors.New("too large")
	ErrNotPlugin   = errors.New("not a plugin")
)

// kindError makes an error wrap one of the kinds without adding its text: the error says the
// same in more detail.
type kindError struct{ kind, err error }

func (e *kindError) Error() string   { return e.err.Error() }
func (e *kindError) Unwrap() []error { return []error{e.kind, e.err} }

// As returns err as an error of a kind.
func As(kind, err error) error { return &kindError{kind, err} }

// Safe shows an error about hostile input on one safe line, and keeps what it wraps.
func Safe(err error) error { return safeError{err} }

type safeError struct{ err error }

func (s safeError) Error() string { return plain.Line(s.err.Error()) }
func (s safeError) Unwrap() error { return s.err }
