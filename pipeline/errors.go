package pipeline

import (
	"context"
	"errors"
	"fmt"

	"github.com/anchor-host/anchor-host/pipeline/core"
	"github.com/anchor-host/anchor-host/pipeline/fill"
)

// Errors that callers decide on.
var (
	// ErrInvalid marks a value outside its bounds.
	ErrInvalid = core.ErrInvalid
	// ErrBudget marks a budget that leaves no room.
	ErrBudget = fill.ErrBudget
	// ErrNoRetriever marks a label that routes to no retriever.
	ErrNoRetriever = errors.New("no retriever")
	// ErrPanic marks a step, provider, formatter or callback that panicked.
	ErrPanic = core.ErrPanic
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
