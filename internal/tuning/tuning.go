// Package tuning looks for good numbers for the retrievers of collections, and for the weights of
// retrievers that a step merges: on one half of the queries, and it measures on the other.
package tuning

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/anchor-host/anchor-host/anchor/eval"
	"github.com/anchor-host/anchor-host/internal/assemble"
	"github.com/anchor-host/anchor-host/internal/config"
	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/pipeline/retrieve"
)

// ErrNothing means that there is nothing to tune.
var ErrNothing = errors.New("nothing to tune")

// Run is one search for good numbers. All exported fields but Ranker are required.
type Run struct {
	// Index gives the collections.
	Index func(ctx context.Context) (retrieve.Index, error)
	// Embedder returns what makes the vectors of a collection's questions, or nil.
	Embedder func(collection string) retrieve.Embedder
	// Tenant owns the collections.
	Tenant string
	// Ranker says which document an item is of.
	Ranker eval.Ranker
	// Set has the queries and what is relevant to them.
	Set *eval.Set
	// Tuner divides and measures the set.
	Tuner *eval.Tuner

	// tuned are the retrievers of collections with their new values, by name.
	tuned map[string]config.Retriever
	// vectors are those of the queries, by collection.
	vectors map[string][][]float32
	yaml    []string
	out     *eval.Tuning
}

// Do tunes the steps of a configuration. The error wraps [ErrNothing] if there is none to tune; what
// was found before an error is returned with it.
func (t *Run) Do(ctx context.Context, p *assemble.Pipeline) (*eval.Tuning, error) {
	t.tuned, t.vectors = map[string]config.Retriever{}, map[string][][]float32{}
	t.out = &eval.Tuning{Metric: t.Tuner.Metric.String(), Results: []eval.TuneResult{}}
	return t.out, t.run(ctx, p)
}

func (t *Run) run(ctx context.Context, p *assemble.Pipeline) error {
	steps, err := p.Tunables()
	if err != nil {
		return err
	}
	if len(steps) == 0 {
		return fmt.Errorf("%w: no step can be tuned (a step needs retriever: NAME of a collection, or several retrievers)", ErrNothing)
	}
	training, heldOut := t.Tuner.Halves(make(eval.Figures, len(t.Set.Queries)))
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
func (t *Run) merges(ctx context.Context, steps []assemble.Tunable) error {
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
func (t *Run) add(r eval.TuneResult, parts int) {
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
func (t *Run) documents(items []pipeline.Item) []string {
	seen := make(map[string]bool, len(items))
	var out []string
	for i := range items {
		if id := t.Ranker.Document(&items[i]); !seen[id] {
			seen[id] = true
			out = append(out, id)
		}
	}
	return out
}

// known returns an error if what a retriever finds for the queries is not in the corpus.
func (t *Run) known(ctx context.Context, name string, rank eval.Rank, values []float64) error {
	example := ""
	for i := range t.Set.Queries {
		found, err := rank(ctx, i, values)
		if err != nil {
			return err
		}
		for _, id := range found {
			if t.Set.Corpus.Has(id) {
				return nil
			}
			example = id
		}
	}
	if example == "" {
		return fmt.Errorf("%w: %s finds nothing for any query", ErrNothing, name)
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
func (t *Run) embed(ctx context.Context, collection string) ([][]float32, error) {
	if v, ok := t.vectors[collection]; ok {
		return v, nil
	}
	e := t.Embedder(collection)
	if e == nil {
		return make([][]float32, len(t.Set.Queries)), nil
	}
	index, err := t.Index(ctx)
	if err != nil {
		return nil, err
	}
	c := retrieve.Collection{Tenant: t.Tenant, Name: collection}
	// A retriever cannot see of which model the vectors are that it is given.
	if _, err := retrieve.Prepare(ctx, index, c, e, retrieve.Query{By: retrieve.ByVectors, Text: t.Set.Queries[0].Text}); err != nil {
		return nil, err
	}
	texts := make([]string, len(t.Set.Queries))
	for i := range t.Set.Queries {
		texts[i] = t.Set.Queries[i].Text
	}
	vectors, err := retrieve.Embed(ctx, e, retrieve.SideQuery, texts)
	if err == nil {
		t.vectors[collection] = vectors
	}
	return vectors, err
}

// filled returns an error if a collection has no documents, which is otherwise a warning.
func (t *Run) filled(ctx context.Context, collection string) error {
	index, err := t.Index(ctx)
	if err != nil {
		return err
	}
	info, err := index.Collection(ctx, retrieve.Collection{Tenant: t.Tenant, Name: collection})
	if err == nil && info.Documents == 0 {
		err = fmt.Errorf("collection %s: %w (fill it with anchor-host ingest PATH --collection %s)", info.Collection, retrieve.ErrEmpty, collection)
	}
	return err
}

// defaultBy is how a retriever searches that does not say it.
func (t *Run) defaultBy(ctx context.Context, collection string) (retrieve.By, error) {
	index, err := t.Index(ctx)
	if err != nil {
		return "", err
	}
	c := retrieve.Collection{Tenant: t.Tenant, Name: collection}
	return retrieve.DefaultBy(ctx, index, c, t.Embedder(collection), false)
}
