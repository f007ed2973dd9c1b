package anchor

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/anchor-host/anchor-host/anchor/eval"
	"github.com/anchor-host/anchor-host/internal/tuning"
	"github.com/anchor-host/anchor-host/pipeline/retrieve"
)

// Tune looks for good numbers for the retrievers of collections that the steps of a configuration
// name, and for the weights of retrievers that a step merges. It tunes on one half of the queries
// and measures on the other. It changes nothing. The first metric at the first depth is tuned; nil
// means nDCG@10. Progress gets the number of rankings that were measured, and -1 for the total,
// which is not known before. Other, CorpusItems and most options of Build are refused. The
// JSON form of the result is the output of "anchor-host eval --tune -o json".
func (a *App) Tune(ctx context.Context, o EvaluateOptions) (*eval.Tuning, error) {
	if o.Other != nil || o.CorpusItems || o.Build.Items != nil {
		return nil, fmt.Errorf("%w: tuning asks retrievers and nothing else (leave out other, corpus items and items)", ErrInvalid)
	}
	options, err := o.options()
	if err != nil {
		return nil, err
	}
	metric := eval.Metric{Kind: "ndcg", K: eval.DefaultDepth}
	if o.Metrics != nil {
		metric = options.Metrics[0]
	}
	set, err := o.read(ctx, a)
	if err != nil {
		return nil, wrong(err)
	}
	g, err := a.use(ctx)
	if err != nil {
		return nil, err
	}
	defer g.Release()
	p, err := g.Pipeline(ctx, o.Build.Pipeline)
	if err != nil {
		return nil, err
	}
	name := cmp.Or(g.Loaded.File, "the default configuration")
	t := &tuning.Run{
		Index: func(ctx context.Context) (retrieve.Index, error) { return a.openIndex(ctx, g.Loaded) }, Embedder: g.CollectionEmbedder,
		Tenant: g.Loaded.TenantName(), Ranker: options.Ranker, Set: set,
		Tuner: &eval.Tuner{Set: set, Metric: metric, Concurrency: o.Concurrency},
	}
	if o.Progress != nil {
		t.Tuner.Progress = func(done int) { o.Progress(name, done, -1) }
	}
	if err := t.Tuner.Check(); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	out, err := t.Do(ctx, p)
	if errors.Is(err, tuning.ErrNothing) {
		err = fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	if out != nil {
		out.Config = name
	}
	return out, err
}
