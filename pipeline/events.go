package pipeline

import (
	"context"
	"log/slog"
	"time"

	"github.com/anchor-host/anchor-host/pipeline/core"
	"github.com/anchor-host/anchor-host/pipeline/internal/warn"
)

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
			p.report(ctx, "on_step_start", step, core.Guard(func() error { return f(ctx, step, ItemsView{items}) }))
		}
	}
}

func (p *Pipeline) onStepEnd(ctx context.Context, step string, items []Item, took time.Duration) {
	for i := range p.callbacks {
		if f := p.callbacks[i].OnStepEnd; f != nil {
			p.report(ctx, "on_step_end", step, core.Guard(func() error { return f(ctx, step, ItemsView{items}, took) }))
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
			p.report(ctx, "on_pipeline_end", "", core.Guard(func() error { return f(ctx, ResultView{r}) }))
		}
	}
}

func (p *Pipeline) report(ctx context.Context, event, step string, err error) {
	if err != nil {
		warn.Log(ctx, p.logger, "callback failed", err, slog.String("event", event), slog.String("step", step))
	}
}
