package pipeline

import (
	"context"
	"time"
)

// Callback is told what happens in a build. Functions that are nil are not called.
// Each call receives its own copies, so that nothing it does changes the build;
// an error or a panic is logged at WARN and has no other effect. Calls come from
// the goroutine of the build, one after another.
type Callback struct {
	// OnPipelineStart comes before anything else, with the query as it was asked.
	OnPipelineStart func(ctx context.Context, q *Query) error
	// OnStepStart comes with the items that the step is given. For steps that run
	// at the same time, events come in the order of registration, and with the
	// items that there would be if they ran one after another.
	OnStepStart func(ctx context.Context, step string, items []Item) error
	// OnStepEnd comes after a step that succeeded, with the items from then on.
	OnStepEnd func(ctx context.Context, step string, items []Item, took time.Duration) error
	// OnStepError comes after a step that failed, also under Skip. The error is a
	// *BuildError.
	OnStepError func(ctx context.Context, step string, err error) error
	// OnPipelineEnd comes after a build that succeeded. The output is shared with
	// the caller of Build, everything else is a copy.
	OnPipelineEnd func(ctx context.Context, r *Result) error
}
