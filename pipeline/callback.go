package pipeline

import (
	"context"
	"time"

	"github.com/anchor-host/anchor-host/pipeline/core"
)

// Callback is told what happens in a build. Functions that are nil are not called.
// Each call receives views and copies of its own, so that nothing it does changes the build;
// an error or a panic is logged at WARN and has no other effect. Calls come from
// the goroutine of the build, one after another.
type Callback struct {
	// OnPipelineStart comes before anything else, with the query as it was asked.
	OnPipelineStart func(ctx context.Context, q *Query) error
	// OnStepStart comes with the items that the step is given. For steps that run
	// at the same time, events come in the order of registration, and with the
	// items that there would be if they ran one after another.
	OnStepStart func(ctx context.Context, step string, items ItemsView) error
	// OnStepEnd comes after a step that succeeded, with the items from then on.
	OnStepEnd func(ctx context.Context, step string, items ItemsView, took time.Duration) error
	// OnStepError comes after a step that failed, also under Skip. The error is a
	// *BuildError.
	OnStepError func(ctx context.Context, step string, err error) error
	// OnPipelineEnd comes after a build that succeeded.
	OnPipelineEnd func(ctx context.Context, r ResultView) error
}

// ItemsView shows a callback the items of a build. It costs nothing until an item is asked
// for. It is valid until the callback returns, because the build then goes on to use the
// list; what is to be kept must be copied. The zero value has no items.
type ItemsView struct{ items []Item }

// ViewItems returns the view of items, for callers of a [Callback] other than a build.
func ViewItems(items []Item) ItemsView { return ItemsView{items} }

// Len returns the number of items.
func (v ItemsView) Len() int { return len(v.items) }

// At returns a copy of item i, which shares no map and no slice with the build. i is 0 or
// more and below Len.
func (v ItemsView) At(i int) Item { return v.items[i].Clone() }

// Copy returns a copy of all items, which shares no map and no slice with the build.
func (v ItemsView) Copy() []Item { return core.CloneItems(v.items) }

// ResultView shows a callback the result of a build. It costs nothing until something is
// copied, and is valid until the callback returns.
type ResultView struct{ result *Result }

// ViewResult returns the view of r, for callers of a [Callback] other than a build.
func ViewResult(r *Result) ResultView { return ResultView{r} }

// Items returns the items of the window.
func (v ResultView) Items() ItemsView { return ItemsView{v.result.Window.Items} }

// BuildTimeMS returns how long the build took, in milliseconds.
func (v ResultView) BuildTimeMS() float64 { return v.result.BuildTimeMS }

// Copy returns a copy of the result. Its output is shared with the caller of Build,
// everything else is a copy.
func (v ResultView) Copy() *Result { return v.result.clone() }
