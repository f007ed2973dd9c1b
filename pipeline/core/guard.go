package core

import (
	"errors"
	"fmt"
	"io"
	"runtime/debug"

	"github.com/anchor-host/anchor-host/internal/decode"
)

var (
	// ErrInvalid marks a value outside its bounds.
	ErrInvalid = decode.ErrInvalid
	// ErrPanic marks a step, provider, formatter or callback that panicked.
	ErrPanic = errors.New("panic")
)

// PanicError is a panic of a step, provider, formatter or callback. Its message is
// one line; %+v adds the stack.
type PanicError struct {
	Value any
	Stack []byte
}

// Error returns the value of the panic.
func (e *PanicError) Error() string { return fmt.Sprintf("%v: %v", ErrPanic, e.Value) }

// Unwrap returns [ErrPanic] and, if the value was an error, that error.
func (e *PanicError) Unwrap() []error {
	if err, ok := e.Value.(error); ok {
		return []error{ErrPanic, err}
	}
	return []error{ErrPanic}
}

// Trace returns the stack of the panic as text.
func (e *PanicError) Trace() string { return string(e.Stack) }

// Format writes the message, and with %+v the stack after it.
func (e *PanicError) Format(f fmt.State, verb rune) {
	_, _ = io.WriteString(f, e.Error())
	if verb == 'v' && f.Flag('+') {
		_, _ = fmt.Fprintf(f, "\n%s", e.Stack)
	}
}

// Guard calls f and turns a panic into a [PanicError].
func Guard(f func() error) (err error) {
	defer Recover(&err)
	return f()
}

// Recover turns a panic of the function that defers it into a [PanicError].
func Recover(err *error) {
	if r := recover(); r != nil {
		*err = &PanicError{Value: r, Stack: debug.Stack()}
	}
}
