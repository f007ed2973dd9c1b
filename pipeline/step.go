package pipeline

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/anchor-host/anchor-host/internal/usedfuel"
)

// Step is one stage of a build between memory and window.
//
// Run receives the items so far and returns the items from then on; it may return the slice
// that it received. nil with a nil error is an empty list, as usual in Go, so a step that
// changes nothing must return the items it received. A failed Run has no effect, whatever it
// did to its arguments.
type Step interface {
	Run(ctx context.Context, q *Query, items []Item) ([]Item, error)
}

// StepFunc is a function that is a [Step]. If it returns a nil list, the list is empty.
type StepFunc func(ctx context.Context, q *Query, items []Item) ([]Item, error)

// Run calls f.
func (f StepFunc) Run(ctx context.Context, q *Query, items []Item) ([]Item, error) {
	return f(ctx, q, items)
}

// Retriever finds new items for a query, at most topK of them, the best first. The build
// drops what it returns beyond topK. An item without a source gets [SourceRetrieval], and an
// item without a priority gets the default of its source. A Retriever must be safe for
// concurrent use.
type Retriever interface {
	Retrieve(ctx context.Context, q *Query, topK int) ([]Item, error)
}

// PostProcessor returns the items that replace those it received.
type PostProcessor interface {
	Process(ctx context.Context, q *Query, items []Item) ([]Item, error)
}

// Filter reports for each item whether to keep it.
type Filter interface {
	Filter(ctx context.Context, q *Query, items []Item) (keep []bool, err error)
}

// Reranker returns the items in a new order or with new scores, at most topK.
type Reranker interface {
	Rerank(ctx context.Context, q *Query, items []Item, topK int) ([]Item, error)
}

// QueryTransformer returns variants of a query. The build retrieves items for each of them.
type QueryTransformer interface {
	TransformQuery(ctx context.Context, q *Query) ([]Query, error)
}

// QueryClassifier returns the label that selects the retriever for a query.
type QueryClassifier interface {
	Classify(ctx context.Context, q *Query) (label string, err error)
}

// OnError says what a build does when a step fails.
type OnError string

// The policies. The zero value is Raise.
const (
	Raise OnError = "raise" // the build fails
	// Skip continues with the items from before the step, or without the part that failed.
	// Diagnostics show it.
	Skip OnError = "skip"
)

// What a step has whose configuration says nothing.
const (
	// DefaultStepPriority is the priority of a step.
	DefaultStepPriority = 50

	// DefaultTopK is the top_k of a retriever or reranker.
	DefaultTopK = 10
)

// StepConfig is a step with its place and policy in the pipeline.
type StepConfig struct {
	// Name appears in diagnostics, events and errors. It must not be empty.
	Name string
	// Priority orders the steps: lower numbers run earlier, and steps of equal priority in
	// the order of registration. 0 means DefaultStepPriority.
	Priority int
	// Timeout bounds one run. 0 means that only the build's context bounds it. The build
	// abandons a native step that exceeds its timeout and leaves it a copy of the items.
	// Only a step without a timeout can block a build. See also [ClassifiedStep].
	Timeout time.Duration
	// OnError is Raise when empty.
	OnError OnError
	Step    Step
}

// policy says what a build does when one of its parts fails, and how long the part may take.
type policy struct {
	onError OnError
	timeout time.Duration
}

func (o policy) check(part string) error {
	switch {
	case o.onError != "" && o.onError != Raise && o.onError != Skip:
		return fmt.Errorf("pipeline: %s: on_error %q: %w (want %s or %s)", part, o.onError, ErrInvalid, Raise, Skip)
	case o.timeout < 0:
		return fmt.Errorf("pipeline: %s: timeout %v: %w (want 0 or more)", part, o.timeout, ErrInvalid)
	}
	return nil
}

// BuildInfo tells a step about the build that it is part of.
type BuildInfo struct {
	// MaxTokens is the size of the window in tokens, without the reserve of the budget.
	MaxTokens int
	// logger is that of the build.
	logger *slog.Logger
}

type buildInfoKey struct{}

// BuildInfoFrom returns the information about the build that ctx belongs to. It returns
// false outside of a build.
func BuildInfoFrom(ctx context.Context) (BuildInfo, bool) {
	info, ok := ctx.Value(buildInfoKey{}).(BuildInfo)
	return info, ok
}

// loggerFrom returns the logger of the build that a step's context belongs to.
func loggerFrom(ctx context.Context) *slog.Logger {
	if info, ok := BuildInfoFrom(ctx); ok && info.logger != nil {
		return info.logger
	}
	return slog.Default()
}

// AddFuel adds units of fuel to the step that runs with the context ctx, or to the provider
// of a chain. A plugin host calls it for the work of its guests, which it measures in fuel.
// Diagnostics show the sum. With any other context, and after the step has ended, AddFuel
// has no effect.
func AddFuel(ctx context.Context, units int64) { usedfuel.Add(ctx, units) }
