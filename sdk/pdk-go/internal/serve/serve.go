// Package serve connects the exports of a plugin with the author's handlers. It takes the
// request from either lane, calls the handler, and puts the answer or the error where the
// host reads it.
package serve

import (
	"errors"
	"fmt"
	"os"
	"runtime/debug"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/sdk/pdk-go"
	"github.com/anchor-host/anchor-host/sdk/pdk-go/internal/imports"
	"github.com/anchor-host/anchor-host/sdk/pdk-go/internal/mem"
)

// Exports are the exports of one operation. Batch is nil for an operation without a batch
// lane.
type Exports struct {
	JSON  func() int32
	Batch func(ptr, n uint32) int32
}

// registry holds the exports of all linked sub-packages.
var registry = map[abi.Operation]Exports{}

// Lookup returns the exports of op, and false if the package of op is not linked.
func Lookup(op abi.Operation) (Exports, bool) {
	e, ok := registry[op]
	return e, ok
}

// resets has a function for each handler, which removes the handler and returns a function
// that restores it.
var resets []func() (restore func())

// Reset removes all handlers and returns a function that restores them.
func Reset() (restore func()) {
	restores := make([]func(), len(resets))
	for i, reset := range resets {
		restores[i] = reset()
	}
	return func() {
		for _, f := range restores {
			f()
		}
	}
}

// JSON serves a call of the JSON lane. f receives a document and returns another, nil for none.
func JSON(op abi.Operation, f func(in []byte) (out []byte, err error)) (status int32) {
	mem.Collect()
	defer report(op, &status)
	return answer(op, exchange(f))
}

// exchange passes the request to f and writes the answer to the place where the request came
// from: the mailbox, or Extism.
func exchange(f func(in []byte) (out []byte, err error)) error {
	in := mem.Document()
	boxed := in != nil
	if !boxed {
		in = imports.Input()
	}
	mem.SetOutput(mem.Output())
	out, err := f(in)
	if err != nil || out == nil {
		return err
	}
	mem.SetOutput(out) // also without a mailbox, because the next call reuses the buffer
	if !boxed {
		imports.Output(out)
	}
	return nil
}

// report turns a panic in a handler into an error. Callers must defer report itself. It
// writes the stack to stderr, which the host keeps with the error.
func report(op abi.Operation, status *int32) {
	if v := recover(); v != nil {
		_, _ = os.Stderr.Write(debug.Stack())
		*status = fail(op, &pdk.PanicError{Value: v})
	}
}

// answer returns the status of a call that ended with err.
func answer(op abi.Operation, err error) int32 {
	switch {
	case err == nil:
		return int32(abi.StatusDone)
	case errors.Is(err, pdk.ErrNoChange):
		return int32(abi.StatusNoChange)
	}
	return fail(op, err)
}

// fail passes err to the host.
func fail(op abi.Operation, err error) int32 {
	msg := err.Error()
	if msg == "" {
		msg = fmt.Sprintf("%s: handler returned an error without text (%T)", op, err)
	}
	imports.SetError(msg)
	return int32(abi.StatusError)
}

// reportUnsent tells the host which columns a handler read without their being sent. The host
// knows the manifest, and warns if it does not name them.
func reportUnsent(b *abi.Batch) {
	if unsent := b.Unsent(); unsent != 0 {
		for _, c := range abi.Columns {
			if unsent.Has(c) {
				imports.Log(imports.LevelWarn, c.Unsent())
			}
		}
	}
}

// unhandled is the error of an export without a handler.
func unhandled(op abi.Operation) error {
	return fmt.Errorf("%s: no handler is registered (call Handle of its package in an init function)", op)
}

// twice panics when a handler is registered a second time, because the first would silently
// never run.
func twice(op abi.Operation, registered bool) {
	if registered {
		panic(fmt.Sprintf("%s: a handler is registered twice (a plugin has one per operation)", op))
	}
}
