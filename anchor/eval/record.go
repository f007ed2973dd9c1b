package eval

import (
	"context"
	"time"

	"github.com/anchor-host/anchor-host/pipeline"
)

// stage is the state of the items after one stage of a build.
type stage struct {
	name    string
	rows    []row
	items   int
	skipped string // why the step was skipped
}

// recorder records the stages of one build. It belongs to the goroutine of the build.
type recorder struct {
	ranker *Ranker
	stages []stage
}

type recorderKey struct{}

// Callback observes the builds of [Run] and ignores others. A pipeline that is to be
// evaluated must have it.
func Callback() pipeline.Callback {
	return pipeline.Callback{
		OnStepStart: func(ctx context.Context, step string, items pipeline.ItemsView) error {
			if r := recorderOf(ctx); r != nil {
				r.start(step, items.Copy())
			}
			return nil
		},
		OnStepEnd: func(ctx context.Context, _ string, items pipeline.ItemsView, _ time.Duration) error {
			if r := recorderOf(ctx); r != nil {
				r.end(items.Copy())
			}
			return nil
		},
		OnStepError: func(ctx context.Context, _ string, err error) error {
			if r := recorderOf(ctx); r != nil {
				r.stages[len(r.stages)-1].skipped = err.Error()
			}
			return nil
		},
	}
}

func recorderOf(ctx context.Context) *recorder {
	r, _ := ctx.Value(recorderKey{}).(*recorder)
	return r
}

// start begins a stage with the items that the step receives. If the step is skipped, these
// stay the items of the stage.
func (r *recorder) start(step string, items []pipeline.Item) {
	rows, n := r.ranker.rows(items)
	r.stages = append(r.stages, stage{name: step, rows: rows, items: n})
}

func (r *recorder) end(items []pipeline.Item) {
	s := &r.stages[len(r.stages)-1]
	s.rows, s.items = r.ranker.rows(items)
}
