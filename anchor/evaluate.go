package anchor

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/anchor-host/anchor-host/anchor/eval"
	"github.com/anchor-host/anchor-host/internal/assemble"
	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/pipeline/retrieve"
)

// EvaluateOptions name a collection in the format of BEIR and say how it is evaluated. A field
// with its zero value has the default of "anchor-host eval". The help of that command describes
// the files.
type EvaluateOptions struct {
	// Corpus and Queries are JSON Lines, and Qrels are tab-separated. All three are required, or
	// Questions. If a reader has a method Name, as a file has, errors show the name.
	Corpus, Queries, Qrels io.Reader
	// Questions is a file of "anchor-host eval init" in the place of the three: JSON Lines of
	// [eval.Question]. The documents of the collections that they name are the corpus.
	Questions io.Reader
	// CorpusItems gives every build the whole corpus as items, up to 10,000 documents.
	// Build.Items must then be nil.
	CorpusItems bool
	// Other is a second configuration to compare with. It builds the same queries with the same
	// options. nil: there is no comparison.
	Other *App
	// Limit is the maximum number of queries. 0: all queries.
	Limit int
	// AllowMissing accepts judgements of documents and queries that do not exist, and counts
	// them. Otherwise they are an error.
	AllowMissing bool
	// Metrics are names such as "ndcg" and "recall". Each is computed at each of Depths. nil: the
	// default metrics of the command.
	Metrics []string
	// Depths are the numbers of first documents that metrics consider. nil: 1, 5, 10 and 100.
	Depths []int
	// Concurrency is the maximum number of concurrent builds. 0: one for each processor.
	Concurrency int
	// IDMetadata is the metadata key that holds the document id of an item. The id ends before
	// the text IDCut, such as "#".
	IDMetadata, IDCut string
	// IDAfter, if not empty, is the text whose last occurrence the id begins behind, such as "#" in
	// "corpus.jsonl#42".
	IDAfter string
	// ListTies keeps items of equal score in their order. Otherwise the item with the greater id
	// comes first.
	ListTies bool
	// Build are the options of every build. The evaluation adds a callback of its own to
	// Build.Callbacks.
	Build BuildOptions
	// Around runs each build, such as to wait for its turn and to count what it uses. It calls build at
	// most once, and its error fails the evaluation. nil: builds run as they come.
	Around func(ctx context.Context, build func(context.Context) (*pipeline.Result, error)) (*pipeline.Result, error)
	// Progress is called after each build, with the name of the configuration as in the report.
	// Calls do not overlap. It may be nil.
	Progress func(config string, done, total int)
}

// WriteReport writes a report as a single HTML page, which needs no other file, no script and no
// network. The page lists the given number of worst queries.
func WriteReport(w io.Writer, r *eval.Report, worst int) error { return eval.WriteHTML(w, r, worst) }

// Evaluate builds one window for each query of a collection. It compares the items after each
// step, and after the budget cut, with the judgements. The JSON form of the report is the output of
// "anchor-host eval -o json". It stops at the first build that fails.
// Build.Remember is refused.
func (a *App) Evaluate(ctx context.Context, o EvaluateOptions) (*eval.Report, error) {
	if o.Build.Remember {
		return nil, fmt.Errorf("%w: build.remember: an evaluation writes to no conversation (leave it out)", ErrInvalid)
	}
	options, err := o.options()
	if err != nil {
		return nil, err
	}
	set, err := o.read(ctx, a)
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

// evaluate builds the queries of a set. It also returns the name of the configuration.
func (a *App) evaluate(ctx context.Context, o *EvaluateOptions, set *eval.Set, options eval.Options) (*eval.Run, string, error) {
	g, err := a.use(ctx)
	if err != nil {
		return nil, "", err
	}
	defer g.Release()
	c, err := g.Config(o.Build.Pipeline)
	if err != nil {
		return nil, "", err
	}
	if _, err := g.Pipeline(ctx, o.Build.Pipeline); err != nil { // loading must not count as time of a query
		return nil, "", err
	}
	name := cmp.Or(g.Loaded.File, "the default configuration")
	options.Ranker.Prefixes = c.PluginNames()
	if o.Progress != nil {
		options.Progress = func(done, total int) { o.Progress(name, done, total) }
	}
	build := o.Build
	build.Callbacks = append([]pipeline.Callback{eval.Callback()}, build.Callbacks...)
	run, err := eval.Evaluate(ctx, &evalBuilder{a, g, build, o.Around}, set, options)
	return run, name, err
}

// readQuestions reads the questions, and the ids of the documents of their collections.
func (o *EvaluateOptions) readQuestions(ctx context.Context, a *App) (*eval.Set, error) {
	if o.Corpus != nil || o.Queries != nil || o.Qrels != nil || o.CorpusItems {
		return nil, excluded("questions", "corpus, queries, qrels and corpus items")
	}
	name := nameOf(o.Questions, "questions")
	list, err := eval.ReadQuestions(name, o.Questions)
	if err != nil {
		return nil, err
	}
	var known []string
	read := map[string]bool{"": true}
	for i := range list {
		c := list[i].Collection
		if read[c] {
			continue
		}
		read[c] = true
		for d, err := range a.CollectionDocuments(ctx, retrieve.Collection{Name: c, Tenant: o.Build.Tenant}, retrieve.IDs{}) {
			if err != nil {
				return nil, fmt.Errorf("%s:%d: %w", name, list[i].Line, err)
			}
			known = append(known, d.ID)
		}
	}
	return eval.SelectQuestions(name, list, known, eval.SelectOptions{Limit: o.Limit, AllowMissing: o.AllowMissing})
}

// read reads the collection.
func (o *EvaluateOptions) read(ctx context.Context, a *App) (*eval.Set, error) {
	if o.Questions != nil {
		return o.readQuestions(ctx, a)
	}
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

// nameOf returns the name of a reader, or fallback if the reader has none.
func nameOf(r io.Reader, fallback string) string {
	if named, ok := r.(interface{ Name() string }); ok {
		return named.Name()
	}
	return fallback
}

// maxCorpusItems is the maximum size of a corpus that is given to every build. A larger corpus
// needs a retriever.
const maxCorpusItems = 10_000

// keep adds a document of the corpus to the items of every build.
func (o *EvaluateOptions) keep(d eval.Document) error {
	if len(o.Build.Items) == maxCorpusItems {
		return fmt.Errorf("%w: more than %d documents (only a small corpus can be given as items: let a retriever index this one)", ErrInvalid, maxCorpusItems)
	}
	o.Build.Items = append(o.Build.Items, pipeline.Item{
		ID: d.ID, Content: strings.TrimSpace(d.Title + "\n" + d.Text), Source: pipeline.SourceRetrieval,
		Priority: pipeline.DefaultItemPriority, Metadata: map[string]any{"doc_id": d.ID, "title": d.Title},
	})
	return nil
}

// options returns the options of the evaluation in the form of package eval.
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
	return eval.Options{
		Metrics: metrics, Depth: eval.Depth(depths), Concurrency: o.Concurrency,
		Ranker: eval.Ranker{Metadata: cmp.Or(o.IDMetadata, eval.DefaultIDMetadata), Cut: o.IDCut, After: o.IDAfter, ListOrder: o.ListTies},
	}, nil
}

// evalBuilder builds with one generation, even if the App is reloaded meanwhile.
type evalBuilder struct {
	app        *App
	generation *assemble.Generation
	options    BuildOptions
	around     func(context.Context, func(context.Context) (*pipeline.Result, error)) (*pipeline.Result, error)
}

// Build implements [eval.Builder].
func (b *evalBuilder) Build(ctx context.Context, q pipeline.Query) (*pipeline.Result, error) {
	build := func(ctx context.Context) (*pipeline.Result, error) {
		return b.app.buildWith(ctx, b.generation, q, b.options)
	}
	if b.around == nil {
		return build(ctx)
	}
	return b.around(ctx, build)
}
