package tuning

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/anchor-host/anchor-host/anchor/eval"
	"github.com/anchor-host/anchor-host/internal/assemble"
	"github.com/anchor-host/anchor-host/internal/config"
	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/pipeline/retrieve"
)

// tunedHits is how many chunks are asked for. A document may have several.
const tunedHits = 30

// number of a retriever: where it is in the configuration, and what is tried.
type tunedNumber struct {
	name     string
	standard float64
	values   []float64
	of       func(r *config.Retriever) **float64
	by       []retrieve.By
}

var (
	useWords  = []retrieve.By{retrieve.ByWords, retrieve.ByHybrid}
	useHybrid = []retrieve.By{retrieve.ByHybrid}
)

// tunedNumbers are the numbers of a retriever that tuning chooses, in the order of tuning.
var tunedNumbers = []tunedNumber{
	{"k1", retrieve.DefaultK1, []float64{1.5, 0.6, 0.9, 1.2, 2, 2.5, 3}, func(r *config.Retriever) **float64 { return &r.K1 }, useWords},
	{"b", retrieve.DefaultB, []float64{0.75, 0.2, 0.4, 0.6, 0.9}, func(r *config.Retriever) **float64 { return &r.B }, useWords},
	{"weight", retrieve.DefaultVectorWeight, []float64{0.3, 0.05, 0.1, 0.15, 0.2, 0.25, 0.35, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9}, func(r *config.Retriever) **float64 { return &r.Weight }, useHybrid},
	{"neighbours", 0, []float64{0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8}, func(r *config.Retriever) **float64 { return &r.Neighbours }, useHybrid},
}

// tunedDepths are the depths of hybrid searches that are tried.
var tunedDepths = []float64{100, 50, 200, 400}

// searchTuning tunes one retriever of a collection.
type searchTuning struct {
	*Run
	part       *assemble.Part
	by         retrieve.By
	vectors    [][]float32
	numbers    []tunedNumber
	parameters []eval.Parameter
}

// search tunes a retriever of a collection.
func (t *Run) search(ctx context.Context, p *assemble.Part) error {
	s := &searchTuning{Run: t, part: p, by: retrieve.By(p.Search.By)}
	if err := t.filled(ctx, p.Search.Collection); err != nil {
		return fmt.Errorf("retriever %q: %w", p.Name, err)
	}
	if s.by == "" {
		var err error
		if s.by, err = t.defaultBy(ctx, p.Search.Collection); err != nil {
			return fmt.Errorf("retriever %q: %w", p.Name, err)
		}
	}
	if s.by != retrieve.ByWords {
		var err error
		if s.vectors, err = t.embed(ctx, p.Search.Collection); err != nil {
			return fmt.Errorf("retriever %q: %w", p.Name, err)
		}
	}
	s.setParameters()
	now := s.now()
	if err := t.known(ctx, fmt.Sprintf("retriever %q", p.Name), s.rank, now); err != nil {
		return err
	}
	values, err := t.Tuner.Tune(ctx, s.parameters, s.rank)
	if err != nil {
		return err
	}
	t.tuned[p.Name] = s.with(values)
	t.yaml = append(t.yaml, fmt.Sprintf("  %s: %s", strictKey(p.Name), s.entry(values)))
	return s.report(ctx, now, values)
}

// setParameters lists what can be tuned.
func (s *searchTuning) setParameters() {
	for _, n := range tunedNumbers {
		if !slices.Contains(n.by, s.by) {
			continue
		}
		now := n.standard
		if v := *n.of(s.part.Search); v != nil {
			now = *v
		}
		s.numbers = append(s.numbers, n)
		s.parameters = append(s.parameters, eval.Parameter{Name: n.name, Values: n.values, Now: now})
	}
	if s.by == retrieve.ByHybrid {
		s.parameters = append(s.parameters, eval.Parameter{Name: "depth", Values: tunedDepths, Now: float64(cmp.Or(s.part.Search.Depth, retrieve.DefaultDepth))})
	}
}

func (s *searchTuning) now() (values []float64) {
	for _, p := range s.parameters {
		values = append(values, p.Now)
	}
	return values
}

// with returns the settings of the retriever with values.
func (s *searchTuning) with(values []float64) config.Retriever {
	r := *s.part.Search
	for i, n := range s.numbers {
		*n.of(&r) = &values[i]
	}
	if len(values) > len(s.numbers) {
		r.Depth = int(values[len(s.numbers)])
	}
	return r
}

// rank searches with values.
func (s *searchTuning) rank(ctx context.Context, query int, values []float64) ([]string, error) {
	r := s.with(values)
	return s.find(ctx, query, &r)
}

func (s *searchTuning) find(ctx context.Context, query int, r *config.Retriever) ([]string, error) {
	q := &pipeline.Query{Text: s.Set.Queries[query].Text}
	if s.vectors != nil {
		q.Embedding = s.vectors[query]
	}
	items, err := s.part.Retrieve(ctx, q, tunedHits, r)
	return s.documents(items), err
}

// report measures the parts alone, the defaults, the values of the configuration, and the tuned
// ones.
func (s *searchTuning) report(ctx context.Context, now, values []float64) error {
	result := eval.TuneResult{Kind: "retriever", Name: s.part.Name}
	if s.by == retrieve.ByHybrid {
		for _, by := range []retrieve.By{retrieve.ByWords, retrieve.ByVectors} {
			alone := s.with(values)
			alone.By = string(by)
			f, err := s.Tuner.Measure(ctx, func(ctx context.Context, query int, _ []float64) ([]string, error) { return s.find(ctx, query, &alone) }, nil)
			if err != nil {
				return err
			}
			result.Rows = append(result.Rows, s.Tuner.Row(string(by)+" alone", nil, f))
		}
	}
	parts := len(result.Rows)
	defaults := make([]float64, len(s.parameters))
	for i := range defaults {
		defaults[i] = s.parameters[i].Values[0]
	}
	var before, after eval.Figures
	for _, row := range []struct {
		name   string
		values []float64
		keep   *eval.Figures
	}{{rowDefaults, defaults, nil}, {rowNow, now, &before}, {rowTuned, values, &after}} {
		f, err := s.Tuner.Measure(ctx, s.rank, row.values)
		if err != nil {
			return err
		}
		if row.keep != nil {
			*row.keep = f
		}
		result.Rows = append(result.Rows, s.Tuner.Row(row.name, valuesByName(s.parameters, row.values), f))
	}
	result.Difference = s.compare(before, after)
	s.add(result, parts)
	return nil
}

// compare compares figures on the held-out half.
func (t *Run) compare(before, after eval.Figures) eval.Difference {
	_, a := t.Tuner.Halves(before)
	_, b := t.Tuner.Halves(after)
	return eval.Compare(t.out.Metric, a, b)
}

// entry writes the retriever with values for the file.
func (s *searchTuning) entry(values []float64) string {
	r := s.part.Search
	keys := []string{"collection: " + strictKey(r.Collection), "by: " + string(s.by)}
	for i, p := range s.parameters {
		keys = append(keys, p.Name+": "+number(values[i]))
	}
	if r.Fusion != "" {
		keys = append(keys, "fusion: "+r.Fusion)
	}
	if len(r.Filter) > 0 {
		keys = append(keys, "filter: "+filterText(r.Filter))
	}
	return "{" + strings.Join(keys, ", ") + "}"
}
