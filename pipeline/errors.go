package pipeline

import (
	"context"
	"errors"
	"fmt"

	"github.com/anchor-host/anchor-host/pipeline/core"
	"github.com/anchor-host/anchor-host/pipeline/fill"
)

// Errors that callers can test for with errors.Is.
var (
	// ErrInvalid means that a value is outside its bounds.
	ErrInvalid = core.ErrInvalid
	// ErrBudget means that a budget leaves no room.
	ErrBudget = fill.ErrBudget
	// ErrNoRetriever means that no retriever is configured for a label.
	ErrNoRetriever = errors.New("no retriever")
	// ErrPanic means that a step, provider, formatter or callback panicked.
	ErrPanic = core.ErrPanic
)

// BuildError is the error of every failed build. It carries the diagnostics
// gathered until then.
type BuildError struct {
	// Stage is the stage that failed: "query", "system", "memory", "enrich", "step",
	// "count", "fill", "format", or "degraded" if the window lacks something and is refused.
	Stage string
	// Step is the name of the failed step. It is empty in all stages but "step".
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

// A Reasoner is an error that carries a machine-readable reason, such as "timeout". Steps
// that a plugin host runs return such errors; diagnostics and error documents show the reason.
type Reasoner interface{ Reason() string }

// PluginNamer is an error that names the plugin that caused it.
type PluginNamer interface{ PluginName() string }

// ReasonOf returns the machine-readable reason of an error: that of the first [Reasoner] in
// its chain, "timeout" or "cancelled" for the error of a context, "panic" for
// [ErrPanic], "budget" for [ErrBudget], "invalid_output" for [ErrInvalid], and "" for any other.
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
	case errors.Is(err, ErrBudget):
		return "budget"
	case errors.Is(err, ErrInvalid):
		return "invalid_output"
	}
	return ""
}

// DiagnosticsOf returns the diagnostics of a build, from its result or from the [BuildError] that it
// ended with. It returns nil for a build that did not begin.
func DiagnosticsOf(result *Result, err error) *Diagnostics {
	if result != nil {
		return result.Diagnostics
	}
	var failed *BuildError
	if errors.As(err, &failed) {
		return failed.Diagnostics
	}
	return nil
}

// PluginOf returns the name of the plugin that caused an error, or "".
func PluginOf(err error) string {
	var n PluginNamer
	if errors.As(err, &n) {
		return n.PluginName()
	}
	return ""
}
