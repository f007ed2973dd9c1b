package anchor

import (
	"context"
	"fmt"
	"io"

	"github.com/anchor-host/anchor-host/internal/eval"
	"github.com/anchor-host/anchor-host/pipeline"
)

// EvaluateOptions are a collection in the form of BEIR, and how it is measured. The zero
// value of a field that is not needed stands for the default of "anchor-host eval", whose
// help describes the files.
type EvaluateOptions struct {
	// Corpus and Queries are JSON Lines, and Qrels are tab-separated. All are needed.
	Corpus, Queries, Qrels io.Reader
	// Limit is the most queries. 0: all.
	Limit int
	// AllowMissing counts judgements of documents and queries that do not exist.
	AllowMissing bool
	// Metrics are such as "ndcg" and "recall", each at each of Depths.
	Metrics []string
	// Depths are the depths of the metrics.
	Depths []int
	// Concurrency is the most builds at the same time. 0: one for each processor.
	Concurrency int
	// IDMetadata is the key of the metadata that names the document of an item, and IDCut a
	// text at which its name ends, such as "#".
	IDMetadata, IDCut string
	// ListTies keeps items of equal score in their order; otherwise the greater id is first.
	ListTies bool
	// Build are the options of every build. Its Callbacks get another one.
	Build BuildOptions
	// Progress is called after each build, one call after another. It may be nil.
	Progress func(done, total int)
}

// Report is what an evaluation found. Its JSON is that of "anchor-host eval -o json".
type Report = eval.Report

// Evaluate builds once for each query of a collection, and compares what was found after
// each step, and after the budget cut, with the judgements. It ends with the first build
// that fails.
func (a *App) Evaluate(ctx context.Context, o EvaluateOptions) (*Report, error) {
	options, err := o.options()
	if err != nil {
		return nil, err
	}
	set, err := o.read()
	if err != nil {
		return nil, wrong(err)
	}
	g, err := a.use()
	if err != nil {
		return nil, err
	}
	defer g.users.Done()
	c, err := g.loaded.Pipeline(o.Build.Pipeline)
	if err != nil {
		return nil, err
	}
	options.Ranker.Prefixes = c.PluginNames()
	build := o.Build
	build.Callbacks = append([]pipeline.Callback{eval.Callback()}, build.Callbacks...)
	run, err := eval.Evaluate(ctx, &evalBuilder{a, g, build}, set, options)
	if err != nil {
		return nil, err
	}
	return eval.NewReport(run, g.loaded.File), nil
}

// read reads the collection.
func (o *EvaluateOptions) read() (*eval.Set, error) {
	if o.Corpus == nil || o.Queries == nil || o.Qrels == nil {
		return nil, fmt.Errorf("%w: an evaluation needs corpus, queries and qrels", ErrInvalid)
	}
	corpus, err := eval.ReadCorpus("corpus", o.Corpus, nil)
	if err != nil {
		return nil, err
	}
	queries, err := eval.ReadQueries("queries", o.Queries)
	if err != nil {
		return nil, err
	}
	qrels, err := eval.ReadQrels("qrels", o.Qrels)
	if err != nil {
		return nil, err
	}
	return eval.Select(corpus, queries, qrels, eval.SelectOptions{Limit: o.Limit, AllowMissing: o.AllowMissing})
}

// options returns how the collection is measured.
func (o *EvaluateOptions) options() (eval.Options, error) {
	names, depths := o.Metrics, o.Depths
	if names == nil {
		names = eval.DefaultKinds
	}
	if depths == nil {
		depths = eval.DefaultDepths
	}
	for _, n := range []struct {
		option string
		value  int
	}{{"limit", o.Limit}, {"concurrency", o.Concurrency}} {
		if n.value < 0 {
			return eval.Options{}, fmt.Errorf("%w: %s: want 0 or more, got %d", ErrInvalid, n.option, n.value)
		}
	}
	metrics, err := eval.Metrics(names, depths)
	if err != nil {
		return eval.Options{}, fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	id := o.IDMetadata
	if id == "" {
		id = eval.DefaultIDMetadata
	}
	return eval.Options{
		Metrics: metrics, Depth: eval.Depth(depths), Concurrency: o.Concurrency, Progress: o.Progress,
		Ranker: eval.Ranker{Metadata: id, Cut: o.IDCut, ListOrder: o.ListTies},
	}, nil
}

// evalBuilder builds with one generation, whatever is loaded meanwhile.
type evalBuilder struct {
	app        *App
	generation *generation
	options    BuildOptions
}

// Build implements [eval.Builder].
func (b *evalBuilder) Build(ctx context.Context, q pipeline.Query) (*pipeline.Result, error) {
	p := &plan{generation: b.generation, config: b.generation.loaded.Config, query: q}
	return b.app.build(ctx, p, &b.options)
}
