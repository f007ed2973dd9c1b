package core

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
)

// ErrDegraded is the error of what lacks something and is refused for that.
var ErrDegraded = errors.New("degraded")

// The kinds of degradations.
const (
	// KindSkipped is a step, a provider or another part that failed and was left out.
	KindSkipped = "skipped"
	// KindCut is a list of results, or a result of a tool, of which a part was cut off.
	KindCut = "cut"
	// KindDropped is a message, or a part of one, that was left out.
	KindDropped = "dropped"
	// KindMissing is a collection that is missing, or has no documents.
	KindMissing = "missing"
	// KindUnanswered is a model, a search or another service that gave no answer.
	KindUnanswered = "unanswered"
	// KindOver is a list of messages that exceeds its budget.
	KindOver = "over"
)

// Degradation is one thing that an answer lacks.
type Degradation struct {
	// Kind is one of the kinds above.
	Kind string `json:"kind"`
	// Step is the step, provider or part, and Plugin its plugin. Both may be empty.
	Step   string `json:"step,omitempty"`
	Plugin string `json:"plugin,omitempty"`
	// Reason is a word for programs, such as "timeout".
	Reason string `json:"reason,omitempty"`
	// Message is a sentence for people.
	Message string `json:"message"`
}

// maxDegradations bounds the degradations of one answer, because requests may name their own steps.
const maxDegradations = 100

// Notes collects degradations. It is safe for concurrent use; the zero value is ready.
type Notes struct {
	mu   sync.Mutex
	list []Degradation
}

type notesKey struct{}

// Under returns a context in which [Degraded] adds to n.
func (n *Notes) Under(ctx context.Context) context.Context {
	return context.WithValue(ctx, notesKey{}, n)
}

// List returns what was noted so far.
func (n *Notes) List() []Degradation {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Clone(n.list)
}

// Degraded notes what the answer lacks that is being made. It does nothing in a context without
// [Notes].
func Degraded(ctx context.Context, d Degradation) {
	n, ok := ctx.Value(notesKey{}).(*Notes)
	if !ok {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.list) < maxDegradations {
		n.list = append(n.list, d)
	}
}

// DegradedError refuses an answer for what it lacks.
type DegradedError struct{ List []Degradation }

// Error names what is missing.
func (e *DegradedError) Error() string {
	texts := make([]string, min(len(e.List), 5))
	for i := range texts {
		d := &e.List[i]
		if texts[i] = d.Message; d.Step != "" {
			texts[i] = d.Step + ": " + d.Message
		}
	}
	return "the answer lacks something, and builds.strict refuses it: " + strings.Join(texts, "; ")
}

// Reason is "degraded".
func (e *DegradedError) Reason() string { return ErrDegraded.Error() }

// Unwrap returns [ErrDegraded].
func (e *DegradedError) Unwrap() error { return ErrDegraded }
