// Package fault has the error with a reason that ends a call of a guest.
package fault

import (
	"fmt"

	"github.com/anchor-host/anchor-host/abi"
)

// Fault is an error with a reason. A host function panics with one to stop the guest. The
// host returns one for an answer that it refuses.
type Fault struct {
	// Reason is the code that callers act on, and Err the cause.
	Reason abi.Reason
	Err    error
	// Remedy is what an operator can do. "" stands for the usual remedy of the reason, and
	// a space for none.
	Remedy string
}

// Error is the text of the cause.
func (f *Fault) Error() string { return f.Err.Error() }

// Unwrap returns the cause.
func (f *Fault) Unwrap() error { return f.Err }

// New is a fault with the usual remedy of its reason. The format is that of fmt.Errorf.
func New(code abi.Reason, format string, args ...any) *Fault {
	return &Fault{Reason: code, Err: fmt.Errorf(format, args...)}
}
