package anchor

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/anchor-host/anchor-host/internal/assemble"
	"github.com/anchor-host/anchor-host/internal/config"
	"github.com/anchor-host/anchor-host/internal/eval"
	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/pipeline/retrieve"
)

// Tuning is what [App.Tune] found. Its JSON form is the output of "anchor-host eval --tune -o json".
type Tuning = eval.Tuning

// Tune looks for good numbers for the retrievers of collections that the steps of a configuration
// name, and for the weights of retrievers that a step merges. It tunes on one half of the queries
// and measures on the other. It changes nothing. The first metric at the first depth is tuned; nil
// means nDCG@10. Progress gets the number of rankings that were measured, and -1 for the total,
// which is not known before. Other, CorpusItems and most options of Build are refused.
func (a *App) Tune(ctx context.Context, o EvaluateOptions) (*Tuning, error) {
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
	set, err := o.read()
	if err != nil {
		return nil, wrong(err)
	}
	g, err := a.use(ctx)
	if err != nil {
		return nil, err
	}
	defer g.users.Done()
	recipe, err := g.recipeOf(ctx, o.Build.Pipeline)
	if err != nil {
		return nil, err
	}
	name := g.loaded.File
	if name == "" {
		name = "the default configuration"
	}
	t := &tuning{
		app: a, generation: g, ranker: options.Ranker, set: set, tuned: map[string]config.Retriever{}, vectors: map[string][][]float32{},
		tuner: &eval.Tuner{Set: set, Metric: metric, Concurrency: o.Concurrency},
		out:   &Tuning{Config: name, Metric: metric.String(), Results: []eval.TuneResult{}},
	}
	if o.Progress != nil {
		t.tuner.Progress = func(done int) { o.Progress(name, done, -1) }
	}
	if err := t.tuner.Check(); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	return t.out, t.run(ctx, recipe)
}

// tuning is one run of [App.Tune].
type tuning struct {
	app        *App
	generation *generation
	ranker     eval.Ranker
	set        *eval.Set
	tuner      *eval.Tuner
	// tuned are the retrievers of collections with their new values, by name.
	tuned map[string]config.Retriever
	// vectors are those of the queries, by collection.
	vectors map[string][][]float32
	yaml    []string
	out     *Tuning
}

func (t *tuning) run(ctx context.Context, recipe *assemble.Recipe) error {
	steps, err := recipe.Tunables()
	if err != nil {
		return err
	}
	if len(steps) == 0 {
		return fmt.Errorf("%w: no step can be tuned (a step needs retriever: NAME of a collection, or several retrievers)", ErrInvalid)
	}
	training, heldOut := t.tuner.Halves(make(eval.Figures, len(t.set.Queries)))
	t.out.Training, t.out.HeldOut = len(training), len(heldOut)
	for _, s := range steps {
		for i := range s.Parts {
			p := &s.Parts[i]
			if _, done := t.tuned[p.Name]; p.Search == nil || done {
				continue
			}
			if err := t.search(ctx, p); err != nil {
				return err
			}
		}
	}
	if len(t.tuned) > 0 {
		t.yaml = append([]string{"retrievers:"}, t.yaml...)
	}
	return t.merges(ctx, steps)
}

// merges tunes the steps that merge several retrievers.
func (t *tuning) merges(ctx context.Context, steps []assemble.Tunable) error {
	first := true
	for i := range steps {
		s := &steps[i]
		if len(s.Step.Retrievers) < 2 || pipeline.Fusion(s.Step.Fusion) == pipeline.FusionRoundRobin {
			continue
		}
		if first {
			t.yaml, first = append(t.yaml, "steps:"), false
		}
		if err := t.merge(ctx, s); err != nil {
			return err
		}
	}
	t.out.YAML = strings.Join(t.yaml, "\n") + "\n"
	return nil
}

// add records a result, and warns if the configuration as it is has worse figures for the held-out
// half than its best part alone.
func (t *tuning) add(r eval.TuneResult, parts int) {
	t.out.Results = append(t.out.Results, r)
	best := r.Rows[0]
	for _, row := range r.Rows[:parts] {
		if row.HeldOut > best.HeldOut {
			best = row
		}
	}
	for _, row := range r.Rows[parts:] {
		if parts > 1 && row.Name != rowDefaults && row.HeldOut < best.HeldOut {
			t.out.Warnings = append(t.out.Warnings, fmt.Sprintf("%s %q: merged with the values %s, the held-out figure is %.4f; %s has %.4f (merge less of the others, or leave them out)",
				r.Kind, r.Name, row.Name, row.HeldOut, best.Name, best.HeldOut))
		}
	}
}

// The names of rows.
const (
	rowDefaults = "defaults"
	rowNow      = "as configured"
	rowTuned    = "tuned"
)

// documents returns the documents of items in their order, each once.
func (t *tuning) documents(items []pipeline.Item) []string {
	seen := make(map[string]bool, len(items))
	var out []string
	for i := range items {
		if id := t.ranker.Document(&items[i]); !seen[id] {
			seen[id] = true
			out = append(out, id)
		}
	}
	return out
}

// known returns an error if what a retriever finds for the queries is not in the corpus.
func (t *tuning) known(ctx context.Context, name string, rank eval.Rank, values []float64) error {
	example := ""
	for i := range t.set.Queries {
		found, err := rank(ctx, i, values)
		if err != nil {
			return err
		}
		for _, id := range found {
			if t.set.Corpus.Has(id) {
				return nil
			}
			example = id
		}
	}
	if example == "" {
		return fmt.Errorf("%w: %s finds nothing for any query", ErrInvalid, name)
	}
	return fmt.Errorf("%s: %w, for instance %q (say where the id is, by id metadata, id cut or id after, and see that the collection has this corpus)", name, eval.ErrMapping, example)
}

// number writes a value for the file.
func number(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }

// valuesByName returns values by the names of their parameters.
func valuesByName(parameters []eval.Parameter, values []float64) map[string]float64 {
	out := map[string]float64{}
	for i, p := range parameters {
		out[p.Name] = values[i]
	}
	return out
}

// embed makes the vectors of the queries, once for each collection.
func (t *tuning) embed(ctx context.Context, collection string) ([][]float32, error) {
	if v, ok := t.vectors[collection]; ok {
		return v, nil
	}
	e := t.generation.plugins.CollectionEmbedder(collection)
	if e == nil {
		return make([][]float32, len(t.set.Queries)), nil
	}
	index, err := t.app.openIndex(ctx, t.generation.loaded)
	if err != nil {
		return nil, err
	}
	c := retrieve.Collection{Tenant: t.generation.loaded.TenantName(), Name: collection}
	// A retriever cannot see of which model the vectors are that it is given.
	if _, err := retrieve.Prepare(ctx, index, c, e, retrieve.Query{By: retrieve.ByVectors, Text: t.set.Queries[0].Text}); err != nil {
		return nil, err
	}
	texts := make([]string, len(t.set.Queries))
	for i := range t.set.Queries {
		texts[i] = t.set.Queries[i].Text
	}
	vectors, err := retrieve.Embed(ctx, e, retrieve.SideQuery, texts)
	if err == nil {
		t.vectors[collection] = vectors
	}
	return vectors, err
}

// filled returns an error if a collection has no documents, which is otherwise a warning.
func (t *tuning) filled(ctx context.Context, collection string) error {
	index, err := t.app.openIndex(ctx, t.generation.loaded)
	if err != nil {
		return err
	}
	info, err := index.Collection(ctx, retrieve.Collection{Tenant: t.generation.loaded.TenantName(), Name: collection})
	if err == nil && info.Documents == 0 {
		err = fmt.Errorf("collection %s: %w (fill it with anchor-host ingest PATH --collection %s)", info.Collection, retrieve.ErrEmpty, collection)
	}
	return err
}

// defaultBy is how a retriever searches that does not say it.
func (t *tuning) defaultBy(ctx context.Context, collection string) (retrieve.By, error) {
	index, err := t.app.openIndex(ctx, t.generation.loaded)
	if err != nil {
		return "", err
	}
	c := retrieve.Collection{Tenant: t.generation.loaded.TenantName(), Name: collection}
	return retrieve.DefaultBy(ctx, index, c, t.generation.plugins.CollectionEmbedder(collection), false)
}
