// Package serve runs the author's handlers behind the exports: it takes the
// request from either lane, calls the handler, and puts the answer or the error
// where the host looks for it.
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

// Exports are the exports of one operation. Batch is nil where the operation
// has no batch lane.
type Exports struct {
	JSON  func() int32
	Batch func(ptr, n uint32) int32
}

// registry holds the exports of the sub-packages linked in.
var registry = map[abi.Operation]Exports{}

// Lookup returns the exports of op, if the package of op is linked in.
func Lookup(op abi.Operation) (Exports, bool) {
	e, ok := registry[op]
	return e, ok
}

// resets forget one handler each, and return what brings it back.
var resets []func() (restore func())

// Reset forgets all handlers, and returns what brings them back.
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

// JSON serves a call of the JSON lane: f answers a document with another, nil for none.
func JSON(op abi.Operation, f func(in []byte) (out []byte, err error)) (status int32) {
	mem.Collect()
	defer report(op, &status)
	return answer(op, exchange(f))
}

// exchange answers where the request came from: in the mailbox, or through Extism.
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
	mem.SetOutput(out) // in any case: the buffer serves the next call
	if !boxed {
		imports.Output(out)
	}
	return nil
}

// report turns a panic in a handler into an error. It must be deferred itself.
// The stack goes to stderr, which the host keeps with the error.
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

// fail hands err to the host.
func fail(op abi.Operation, err error) int32 {
	msg := err.Error()
	if msg == "" {
		msg = fmt.Sprintf("%s: handler returned an error without text (%T)", op, err)
	}
	imports.SetError(msg)
	return int32(abi.StatusError)
}

// unhandled is the error of an export without a handler.
func unhandled(op abi.Operation) error {
	return fmt.Errorf("%s: no handler is registered (call Handle of its package in an init function)", op)
}

// twice panics when a handler is registered a second time: the first would
// silently never run.
func twice(op abi.Operation, registered bool) {
	if registered {
		panic(fmt.Sprintf("%s: a handler is registered twice (a plugin has one per operation)", op))
	}
}
