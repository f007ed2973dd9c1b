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

// Safe shows an error about hostile input on one safe line, and keeps what it wraps.
func Safe(err error) error { return safeError{err} }

type safeError struct{ err error }

func (s safeError) Error() string { return plain.Line(s.err.Error()) }
func (s safeError) Unwrap() error { return s.err }
