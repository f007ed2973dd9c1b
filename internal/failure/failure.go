// Package failure writes the error of a build as a document, for the command and for the server:
//
//	{"error": {"message", "reason", "step", "plugin"}, "diagnostics"}
package failure

import (
	"context"
	"errors"
	"io/fs"
	"strings"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/internal/assemble"
	"github.com/anchor-host/anchor-host/internal/config"
	"github.com/anchor-host/anchor-host/internal/observe"
	"github.com/anchor-host/anchor-host/internal/plain"
	"github.com/anchor-host/anchor-host/internal/strict"
	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/pipeline/core"
)

// Document is an error as a JSON document.
type Document struct {
	Error Detail `json:"error"`
	// Diagnostics are those of a build that failed, nil if it had not begun.
	Diagnostics *pipeline.Diagnostics `json:"diagnostics"`
	// Degraded is what the answer would lack that is refused for it.
	Degraded []core.Degradation `json:"degraded,omitempty"`
}

// Detail says what is wrong.
type Detail struct {
	// Message is one line.
	Message string `json:"message"`
	// Reason is a word for programs: a typed reason of a plugin, or invalid_request, not_found,
	// budget, timeout, failure, or one of the server.
	Reason string `json:"reason"`
	// Step and Plugin say where it happened. Both may be empty.
	Step   string `json:"step"`
	Plugin string `json:"plugin"`
	// Remedy says what to do, where the message does not.
	Remedy string `json:"remedy,omitempty"`
	// Problems are the mistakes in a document, where there are several.
	Problems []string `json:"problems,omitempty"`
}

// Of describes an error as a document.
func Of(err error) Document { return of(err, err.Error()) }

// Public describes an error as a document for others than the operator; see [observe.Public].
func Public(err error) Document { return of(err, observe.Public(err)) }

func of(err error, text string) Document {
	switch text { // nothing has said what was waited for
	case context.DeadlineExceeded.Error():
		text = "the deadline came before it was done"
	case context.Canceled.Error():
		text = "it was cancelled"
	}
	doc := Document{Error: Detail{Message: line(text), Reason: Reason(err)}}
	if problems := problemsOf(err); len(problems) > 1 {
		doc.Error.Message, doc.Error.Problems = strings.Join(problems, "; "), problems
	}
	var failed *pipeline.BuildError
	var setUp *assemble.StepError
	switch {
	case errors.As(err, &failed):
		doc.Error.Step, doc.Diagnostics = failed.Step, failed.Diagnostics
	case errors.As(err, &setUp):
		doc.Error.Step = setUp.Step
	}
	if degraded, ok := errors.AsType[*core.DegradedError](err); ok {
		doc.Degraded = degraded.List
	}
	var named interface{ PluginName() string }
	if errors.As(err, &named) {
		doc.Error.Plugin = named.PluginName()
	}
	return doc
}

// problemsOf returns the mistakes in a document. It returns nil for other errors.
func problemsOf(err error) []string {
	var problems strict.Problems
	if !errors.As(err, &problems) {
		return nil
	}
	lines := make([]string, len(problems))
	for i, p := range problems {
		lines[i] = line(p.Error())
	}
	return lines
}

// line puts a text on one line: each run of spaces, line breaks and control characters becomes one
// space.
func line(text string) string {
	return strings.Join(strings.FieldsFunc(text, func(r rune) bool { return r == ' ' || plain.Acts(r) }), " ")
}

// Reason returns the typed reason of an error.
func Reason(err error) string {
	var reasoner pipeline.Reasoner
	var problems strict.Problems
	switch {
	case errors.As(err, &reasoner):
		return reasoner.Reason()
	case errors.As(err, &problems):
		return "invalid_request"
	}
	for _, c := range causeReasons {
		if errors.Is(err, c.cause) {
			return c.reason
		}
	}
	return "failure"
}

// causeReasons are the reasons of errors that callers handle differently, in the order in which
// they are checked.
var causeReasons = []struct {
	cause  error
	reason string
}{
	{context.DeadlineExceeded, string(abi.ReasonTimeout)},
	{context.Canceled, string(abi.ReasonCancelled)},
	{pipeline.ErrBudget, "budget"},
	{strict.ErrTooMany, "invalid_request"},
	{pipeline.ErrInvalid, "invalid_request"},
	{config.ErrInvalid, "invalid_request"},
	{fs.ErrNotExist, "not_found"},
}
