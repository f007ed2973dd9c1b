package jsontext

import (
	"errors"
	"strconv"
	"strings"
)

// Errors of the contract, for errors.Is.
var (
	// ErrMalformed says that bytes break the layout.
	ErrMalformed = errors.New("malformed")
	// ErrTooLarge says that a container would exceed MaxRows or MaxBytes.
	ErrTooLarge = errors.New("too large")
)

// ErrUnsupported is wrapped by errors about values that a batch or a document cannot
// hold.
var ErrUnsupported = errors.New("unsupported value")

// ValueError says why a value is unsupported.
type ValueError string

func (e ValueError) Error() string { return string(e) }
func (e ValueError) Unwrap() error { return ErrUnsupported }

// The reasons why a value is unsupported. ErrNested is another.
const (
	errType   ValueError = "value has an unsupported type (want nil, bool, integer, float, string, []any, map[string]any)"
	ErrFinite ValueError = "number is not finite (want a finite float)"
	errNumber ValueError = "number is malformed or beyond the range of a float (want a JSON number)"
	ErrDepth  ValueError = "value nests deeper than 64 levels (flatten it)"
	errTime   ValueError = "time is outside the years 1678 to 2262 (want one that fits 64-bit nanoseconds)"
)

// AtKey returns err with the key of an object whose value it is about.
func AtKey(key string, err error) error { return keyError{key, err} }

type keyError struct {
	key string
	err error
}

func (e keyError) Error() string { return Quote(e.key) + ": " + e.err.Error() }
func (e keyError) Unwrap() error { return e.err }

// LongestQuote bounds how much of a given name a message repeats.
const LongestQuote = 64

// Quote quotes a name for a message and cuts it to LongestQuote.
func Quote(s string) string {
	if len(s) > LongestQuote {
		return strconv.Quote(s[:LongestQuote]) + "…"
	}
	return strconv.Quote(s)
}

// WantOneOf is the remedy of an error about an unknown name: the valid names.
func WantOneOf(valid []string) string {
	switch len(valid) {
	case 0:
		return " (none is allowed here)"
	case 1:
		return " (want " + valid[0] + ")"
	}
	return " (want one of " + strings.Join(valid, ", ") + ")"
}
