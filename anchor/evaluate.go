package anchor

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/anchor-host/anchor-host/internal/eval"
	"github.com/anchor-host/anchor-host/pipeline"
)

// EvaluateOptions are a collection in the form of BEIR, and how it is measured. A field with
// its zero value has the default of "anchor-host eval". The help of that command describes
// the files.
type EvaluateOptions struct {
	// Corpus and Queries are JSON Lines, and Qrels are tab-separated. All are needed. A
	// reader that has a name, as a file has, gives it to errors.
	Corpus, Queries, Qrels io.Reader
	// CorpusItems gives every build the whole corpus as items, up to 10,000 documents. Then
	// Build has no items of its own.
	CorpusItems bool
	// Other is a second configuration, which builds the same queries under the same options.
	// The report then compares both. nil: there is none.
	Other *App
	// Limit is the most queries. 0: all.
	Limit int
	// AllowMissing counts judgements of documents and queries that do not exist.
	AllowMissing bool
	// Metrics are names such as "ndcg" and "recall". Each is measured at each of Depths. nil:
	// those of the command.
	Metrics []string
	// Depths say how many of the first documents count. nil: 1, 5, 10 and 100.
	Depths []int
	// Concurrency is the most builds at the same time. 0: one for each processor.
	Concurrency int
	// IDMetadata is the key of the metadata that names the document of an item. IDCut is a
	// text at which the name of the document ends, such as "#".
	IDMetadata, IDCut string
	// ListTies keeps items of equal score in their order; otherwise the greater id is first.
	ListTies bool
	// Build are the options of every build. Its Callbacks get another one.
	Build BuildOptions
	// Progress is called after each build, one call after another, with the name that the
	// report has for the configuration. It may be nil.
	Progress func(config string, done, total int)
}

// Report is what an evaluation found. Its JSON is that of "anchor-host eval -o json".
type Report = eval.Report

// WriteReport writes a report as one HTML page, which needs no other file, no script and no
// network. worst is how many of the worst queries it lists.
func WriteReport(w io.Writer, r *Report, worst int) error { return eval.WriteHTML(w, r, worst) }

// Evaluate builds once for each query of a collection, and compares what was found after
// each step, and after the budget cut, with the judgements. It ends with the first build
// that fails. Build.Remember is refused.
func (a *App) Evaluate(ctx context.Context, o EvaluateOptions) (*Report, error) {
	if o.Build.Remember {
		return nil, fmt.Errorf("%w: build.remember: an evaluation writes to no conversation (leave it out)", ErrInvalid)
	}
	options, err := o.options()
	if err != nil {
		return nil, err
	}
	set, err := o.read()
	if err != nil {
		return nil, wrong(err)
	}
	run, name, err := a.evaluate(ctx, &o, set, options)
	if err != nil {
		return nil, err
	}
	report := eval.NewReport(run, name)
	if o.Other != nil {
		other, name, err := o.Other.evaluate(ctx, &o, set, options)
		if err != nil {
			return nil, err
		}
		report.Compare = eval.NewComparison(run, other, name)
	}
	return report, nil
}

// evaluate builds the queries of a set, and returns the name of the configuration too.
func (a *App) evaluate(ctx context.Context, o *EvaluateOptions, set *eval.Set, options eval.Options) (*eval.Run, string, error) {
	g, err := a.use()
	if err != nil {
		return nil, "", err
	}
	defer g.users.Done()
	c, err := g.loaded.Pipeline(o.Build.Pipeline)
	if err != nil {
		return nil, "", err
	}
	if _, err := g.recipeOf(ctx, o.Build.Pipeline); err != nil { // the time of no query
		return nil, "", err
	}
	name := cmp.Or(g.loaded.File, "the default configuration")
	options.Ranker.Prefixes = c.PluginNames()
	if o.Progress != nil {
		options.Progress = func(done, total int) { o.Progress(name, done, total) }
	}
	build := o.Build
	build.Callbacks = append([]pipeline.Callback{eval.Callback()}, build.Callbacks...)
	run, err := eval.Evaluate(ctx, &evalBuilder{a, g, build}, set, options)
	return run, name, err
}

// read reads the collection.
func (o *EvaluateOptions) read() (*eval.Set, error) {
	if o.Corpus == nil || o.Queries == nil || o.Qrels == nil {
		return nil, fmt.Errorf("%w: an evaluation needs corpus, queries and qrels", ErrInvalid)
	}
	var keep func(eval.Document) error
	if o.CorpusItems {
		if o.Build.Items != nil {
			return nil, excluded("corpus items", "items")
		}
		o.Build.Items, keep = []pipeline.Item{}, o.keep
	}
	corpus, err := eval.ReadCorpus(nameOf(o.Corpus, "corpus"), o.Corpus, keep)
	if err != nil {
		return nil, err
	}
	queries, err := eval.ReadQueries(nameOf(o.Queries, "queries"), o.Queries)
	if err != nil {
		return nil, err
	}
	qrels, err := eval.ReadQrels(nameOf(o.Qrels, "qrels"), o.Qrels)
	if err != nil {
		return nil, err
	}
	return eval.Select(corpus, queries, qrels, eval.SelectOptions{Limit: o.Limit, AllowMissing: o.AllowMissing})
}

// nameOf returns the name of a reader.
func nameOf(r io.Reader, fallback string) string {
	if named, ok := r.(interface{ Name() string }); ok {
		return named.Name()
	}
	return fallback
}

// maxCorpusItems bounds a corpus that is given to every build: a larger one is for a
// retriever.
const maxCorpusItems = 10_000

// keep adds a document to the items of every build.
func (o *EvaluateOptions) keep(d eval.Document) error {
	if len(o.Build.Items) == maxCorpusItems {
		return fmt.Errorf("%w: more than %d documents (as items only a small corpus can be given: let a retriever index this one)", ErrInvalid, maxCorpusItems)
	}
	o.Build.Items = append(o.Build.Items, pipeline.Item{
		ID: d.ID, Content: strings.TrimSpace(d.Title + "\n" + d.Text), Source: pipeline.SourceRetrieval,
		Priority: pipeline.DefaultItemPriority, Metadata: map[string]any{"doc_id": d.ID, "title": d.Title},
	})
	return nil
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
		Metrics: metrics, Depth: eval.Depth(depths), Concurrency: o.Concurrency,
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
