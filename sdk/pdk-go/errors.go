package pdk

import (
	"errors"
	"fmt"
)

// ErrNoChange tells the host to continue as if the plugin had not been called. A handler
// returns it; it is not a failure.
var ErrNoChange = errors.New("no change")

// ErrNotFound says that a key has no value.
var ErrNotFound = errors.New("not found")

// ErrQuota says that a value does not fit into the quota of the store.
var ErrQuota = errors.New("quota exceeded")

// ErrFull says that the host has no room for a value, though the quota of the store has, or that
// it cannot write. The value may be stored later.
var ErrFull = errors.New("the host has no room")

// Error is a failure that a plugin reports. The host shows its text to the
// operator, together with the names of the plugin and the step.
type Error struct {
	text string
	err  error
}

// Errorf returns an *Error with the formatted text. It wraps what %w names, as
// [fmt.Errorf] does.
//
//	return pdk.Errorf("open index %s: %w", s.Index, err)
func Errorf(format string, args ...any) error {
	err := fmt.Errorf(format, args...)
	return &Error{text: err.Error(), err: errors.Unwrap(err)}
}

// Error returns the text.
func (e *Error) Error() string { return e.text }

// Unwrap returns the error that %w named, or nil.
func (e *Error) Unwrap() error { return e.err }

// PanicError is the error of a handler that panicked. With stock Go the SDK recovers, and the
// instance stays usable; with TinyGo a panic traps.
type PanicError struct {
	// Value is what panic was called with.
	Value any
}

// Error returns the text of the panic.
func (e *PanicError) Error() string { return fmt.Sprintf("panic: %v", e.Value) }

// Unwrap returns the value when it is an error.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}
