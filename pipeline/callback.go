package pipeline

import (
	"context"
	"time"

	"github.com/anchor-host/anchor-host/pipeline/core"
)

// Callback receives the events of a build. The build does not call functions that are nil.
// Each call receives its own views and copies, so that nothing it does changes the build.
// An error or a panic of a callback is logged at WARN and has no other effect. Calls come
// from the goroutine of the build, one after another.
type Callback struct {
	// OnPipelineStart comes before all other events, with the query as the caller gave it.
	OnPipelineStart func(ctx context.Context, q *Query) error
	// OnStepStart comes before a step, with the items that it receives. For steps that run
	// at the same time, events come in the order of registration, and with the items that
	// the steps would receive if they ran one after another.
	OnStepStart func(ctx context.Context, step string, items ItemsView) error
	// OnStepEnd comes after a step that succeeded, with the items as they are then.
	OnStepEnd func(ctx context.Context, step string, items ItemsView, took time.Duration) error
	// OnStepError comes after a step that failed, also under Skip. The error is a
	// *BuildError.
	OnStepError func(ctx context.Context, step string, err error) error
	// OnPipelineEnd comes after a build that succeeded.
	OnPipelineEnd func(ctx context.Context, r ResultView) error
}

// ItemsView shows a callback the items of a build. It copies an item only when the callback
// asks for it. The view is valid until the callback returns, because the build reuses the
// list; copy what you want to keep. The zero value has no items.
type ItemsView struct{ items []Item }

// Len returns the number of items.
func (v ItemsView) Len() int { return len(v.items) }

// At returns a copy of item i, which shares no map and no slice with the build. i is 0 or
// more and below Len.
func (v ItemsView) At(i int) Item { return v.items[i].Clone() }

// Copy returns a copy of all items, which shares no map and no slice with the build.
func (v ItemsView) Copy() []Item { return core.CloneItems(v.items) }

// ResultView shows a callback the result of a build. It copies only what the callback asks
// for, and is valid until the callback returns.
type ResultView struct{ result *Result }

// Items returns the items of the window.
func (v ResultView) Items() ItemsView { return ItemsView{v.result.Window.Items} }

// BuildTimeMS returns how long the build took, in milliseconds.
func (v ResultView) BuildTimeMS() float64 { return v.result.BuildTimeMS }

// Copy returns a copy of the result. Its output is shared with the caller of Build,
// everything else is a copy.
func (v ResultView) Copy() *Result { return v.result.clone() }
