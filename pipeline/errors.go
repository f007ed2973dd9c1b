package pipeline

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime/debug"

	"github.com/anchor-host/anchor-host/pipeline/internal/decode"
)

// Errors that callers decide on.
var (
	// ErrInvalid marks a value outside its bounds.
	ErrInvalid = decode.ErrInvalid
	// ErrBudget marks a budget that leaves no room.
	ErrBudget = errors.New("budget exceeded")
	// ErrNoRetriever marks a label that routes to no retriever.
	ErrNoRetriever = errors.New("no retriever")
	// ErrPanic marks a step, provider, formatter or callback that panicked.
	ErrPanic = errors.New("panic")
)

// BuildError is the error of every failed build. It carries the diagnostics
// gathered until then.
type BuildError struct {
	// Stage is where the build failed: "query", "system", "memory", "enrich",
	// "step", "count", "fill" or "format".
	Stage string
	// Step is the name of the failed step, empty in the other stages.
	Step        string
	Err         error
	Diagnostics *Diagnostics
}

// Error names the stage, the step if there is one, and the cause.
func (e *BuildError) Error() string {
	if e.Step != "" {
		return fmt.Sprintf("step %q: %v", e.Step, e.Err)
	}
	return fmt.Sprintf("%s: %v", e.Stage, e.Err)
}

// Unwrap returns the cause.
func (e *BuildError) Unwrap() error { return e.Err }

// A Reasoner is an error that knows its typed reason, such as "timeout". Steps
// run by a plugin host return one; diagnostics and error documents show it.
type Reasoner interface{ Reason() string }

// PluginNamer is an error that knows which plugin it comes from.
type PluginNamer interface{ PluginName() string }

// ReasonOf returns the typed reason of an error: that of the first [Reasoner] in
// its chain, "timeout" or "cancelled" for the error of a context, "panic" for
// [ErrPanic], "invalid_output" for [ErrInvalid], and "" for any other.
func ReasonOf(err error) string {
	var r Reasoner
	switch {
	case errors.As(err, &r):
		return r.Reason()
	case errors.Is(err, context.DeadlineExceeded):
		return "timeout"
	case errors.Is(err, context.Canceled):
		return "cancelled"
	case errors.Is(err, ErrPanic):
		return "panic"
	case errors.Is(err, ErrInvalid):
		return "invalid_output"
	}
	return ""
}

// PluginOf returns the name of the plugin an error comes from, or "".
func PluginOf(err error) string {
	var n PluginNamer
	if errors.As(err, &n) {
		return n.PluginName()
	}
	return ""
}

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
	defer func() {
		if r := recover(); r != nil {
			err = &PanicError{Value: r, Stack: debug.Stack()}
		}
	}()
	return f()
}
