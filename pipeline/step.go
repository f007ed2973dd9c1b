package pipeline

import (
	"context"
	"log/slog"
	"time"
)

// Step is one stage of a build between memory and window.
//
// Run receives the items so far and returns the items from then on; it may
// return the slice it was given. nil with a nil error is an empty list, as usual
// in Go: a step that changes nothing returns what it was given. A failed Run has
// no effect, whatever it did to its arguments.
type Step interface {
	Run(ctx context.Context, q *Query, items []Item) ([]Item, error)
}

// StepFunc makes a function a [Step]; as there, a nil list is an empty one.
type StepFunc func(ctx context.Context, q *Query, items []Item) ([]Item, error)

// Run calls f.
func (f StepFunc) Run(ctx context.Context, q *Query, items []Item) ([]Item, error) {
	return f(ctx, q, items)
}

// Retriever finds new items for a query, best first, at most topK of them; what it
// returns beyond topK is cut off. An item without a source gets
// [SourceRetrieval], one without a priority the default of its source. A Retriever
// may be called from several goroutines at once.
type Retriever interface {
	Retrieve(ctx context.Context, q *Query, topK int) ([]Item, error)
}

// PostProcessor returns the items that replace those it was given.
type PostProcessor interface {
	Process(ctx context.Context, q *Query, items []Item) ([]Item, error)
}

// Filter reports, for each of the items, whether it is kept.
type Filter interface {
	Filter(ctx context.Context, q *Query, items []Item) (keep []bool, err error)
}

// Reranker returns the items in a new order or with new scores, at most topK.
type Reranker interface {
	Rerank(ctx context.Context, q *Query, items []Item, topK int) ([]Item, error)
}

// QueryTransformer returns the variants of a query that are each retrieved.
type QueryTransformer interface {
	TransformQuery(ctx context.Context, q *Query) ([]Query, error)
}

// QueryClassifier returns the label that routes a query to a retriever.
type QueryClassifier interface {
	Classify(ctx context.Context, q *Query) (label string, err error)
}

// OnError says what a build does when a step fails.
type OnError string

// The policies. The zero value is Raise.
const (
	Raise OnError = "raise" // the build fails
	Skip  OnError = "skip"  // the items from before the step are used
)

// DefaultStepPriority is the priority of a step that states none.
const DefaultStepPriority = 50

// DefaultTopK is the top_k of a retriever or reranker that states none.
const DefaultTopK = 10

// StepConfig is a step with its place and policy in the pipeline.
type StepConfig struct {
	// Name appears in diagnostics, events and errors. It must not be empty.
	Name string
	// Priority orders the steps: lower runs earlier, equal ones run in the
	// order of registration. 0 means DefaultStepPriority.
	Priority int
	// Timeout bounds one run. 0 means no bound but the build's context. A native
	// step that outlives its timeout is abandoned with a copy of the items; only
	// one without a timeout can hold up a build.
	Timeout time.Duration
	// OnError is Raise when empty.
	OnError OnError
	Step    Step
}

// BuildInfo is what a step can learn about the build it is part of.
type BuildInfo struct {
	// MaxTokens is the room of the window, without the reserve of the budget.
	MaxTokens int
	// logger is that of the build.
	logger *slog.Logger
}

type buildInfoKey struct{}

// BuildInfoFrom returns the information about the build that a step's context
// belongs to. It is false outside a build.
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
