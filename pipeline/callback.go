package pipeline

import (
	"context"
	"log/slog"
	"slices"
	"time"

	"github.com/anchor-host/anchor-host/pipeline/internal/warn"
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
func (v ItemsView) Copy() []Item { return CloneItems(v.items) }

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

func (p *Pipeline) onPipelineStart(ctx context.Context, q *Query) {
	for i := range p.callbacks {
		if f := p.callbacks[i].OnPipelineStart; f != nil {
			own := q.Clone()
			p.report(ctx, "on_pipeline_start", "", Guard(func() error { return f(ctx, &own) }))
		}
	}
}

func (p *Pipeline) onStepStart(ctx context.Context, step string, items []Item) {
	for i := range p.callbacks {
		if f := p.callbacks[i].OnStepStart; f != nil {
			p.report(ctx, "on_step_start", step, Guard(func() error { return f(ctx, step, ItemsView{items}) }))
		}
	}
}

func (p *Pipeline) onStepEnd(ctx context.Context, step string, items []Item, took time.Duration) {
	for i := range p.callbacks {
		if f := p.callbacks[i].OnStepEnd; f != nil {
			p.report(ctx, "on_step_end", step, Guard(func() error { return f(ctx, step, ItemsView{items}, took) }))
		}
	}
}

func (p *Pipeline) onStepError(ctx context.Context, step string, err error) {
	for i := range p.callbacks {
		if f := p.callbacks[i].OnStepError; f != nil {
			p.report(ctx, "on_step_error", step, Guard(func() error { return f(ctx, step, err) }))
		}
	}
}

func (p *Pipeline) onPipelineEnd(ctx context.Context, r *Result) {
	for i := range p.callbacks {
		if f := p.callbacks[i].OnPipelineEnd; f != nil {
			p.report(ctx, "on_pipeline_end", "", Guard(func() error { return f(ctx, ResultView{r}) }))
		}
	}
}

func (p *Pipeline) report(ctx context.Context, event, step string, err error) {
	if err != nil {
		warn.Log(ctx, p.logger, "callback failed", err, slog.String("event", event), slog.String("step", step))
	}
}

// clone copies everything but the output, whose type only the formatter knows.
func (r *Result) clone() *Result {
	out := *r
	window := *r.Window
	window.Items = CloneItems(window.Items)
	out.Window = &window
	out.Overflow = slices.Clone(r.Overflow)
	for i := range out.Overflow {
		out.Overflow[i].Item = out.Overflow[i].Clone()
	}
	out.Diagnostics = r.Diagnostics.clone()
	return &out
}
