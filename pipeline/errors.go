package pipeline

import (
	"errors"
	"fmt"
)

// Errors that callers decide on.
var (
	// ErrInvalid marks a value outside its bounds.
	ErrInvalid = errors.New("invalid value")
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
	// Stage is where the build failed: "query", "memory", "enrich", "step",
	// "count", "budget" or "format".
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
