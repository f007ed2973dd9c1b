package pipeline

import (
	"context"
	"log/slog"
	"slices"
	"time"

	"github.com/anchor-host/anchor-host/pipeline/core"
	"github.com/anchor-host/anchor-host/pipeline/internal/warn"
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

func (p *Pipeline) onPipelineStart(ctx context.Context, q *Query) {
	for i := range p.callbacks {
		if f := p.callbacks[i].OnPipelineStart; f != nil {
			own := q.Clone()
			p.report(ctx, "on_pipeline_start", "", core.Guard(func() error { return f(ctx, &own) }))
		}
	}
}

func (p *Pipeline) onStepStart(ctx context.Context, step string, items []Item) {
	for i := range p.callbacks {
		if f := p.callbacks[i].OnStepStart; f != nil {
			p.report(ctx, "on_step_start", step, core.Guard(func() error { return f(ctx, step, core.CloneItems(items)) }))
		}
	}
}

func (p *Pipeline) onStepEnd(ctx context.Context, step string, items []Item, took time.Duration) {
	for i := range p.callbacks {
		if f := p.callbacks[i].OnStepEnd; f != nil {
			p.report(ctx, "on_step_end", step, core.Guard(func() error { return f(ctx, step, core.CloneItems(items), took) }))
		}
	}
}

func (p *Pipeline) onStepError(ctx context.Context, step string, err error) {
	for i := range p.callbacks {
		if f := p.callbacks[i].OnStepError; f != nil {
			p.report(ctx, "on_step_error", step, core.Guard(func() error { return f(ctx, step, err) }))
		}
	}
}

func (p *Pipeline) onPipelineEnd(ctx context.Context, r *Result) {
	for i := range p.callbacks {
		if f := p.callbacks[i].OnPipelineEnd; f != nil {
			p.report(ctx, "on_pipeline_end", "", core.Guard(func() error { return f(ctx, r.clone()) }))
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
	window.Items = core.CloneItems(window.Items)
	out.Window = &window
	out.Overflow = slices.Clone(r.Overflow)
	for i := range out.Overflow {
		out.Overflow[i].Item = out.Overflow[i].Clone()
	}
	out.Diagnostics = r.Diagnostics.clone()
	return &out
}
