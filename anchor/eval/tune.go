package eval

import (
	"context"
	"crypto/sha256"
	"fmt"
	"math"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
)

// Parameter is a number that tuning chooses.
type Parameter struct {
	Name string
	// Values are tried, in this order. Of values that are equally good, the first is kept.
	Values []float64
	// Now is the value of the configuration.
	Now float64
}

// Rank returns the documents that a query finds with the values of the parameters, the best
// first and none twice. It must be safe for concurrent use.
type Rank func(ctx context.Context, query int, values []float64) ([]string, error)

// Tuner looks for the values of parameters with which the queries of one half of a set are
// answered best. The other half says how good these values are for other queries.
type Tuner struct {
	Set    *Set
	Metric Metric
	// Concurrency is the largest number of calls of a Rank at the same time; 0 means one per
	// processor.
	Concurrency int
	// Progress, if set, is called for each measured ranking. Calls come one after another.
	Progress func(done int)

	mu   sync.Mutex
	done int
}

// Training reports whether a query belongs to the half that values are tuned on. A digest of its
// id decides, so that a query is always in the same half.
func Training(query string) bool { return sha256.Sum256([]byte(query))[0]&1 == 0 }

// Figures are the values of a metric, one for each query of a set.
type Figures []float64

// Halves returns the values of the training half, and those of the held-out half.
func (t *Tuner) Halves(f Figures) (training, heldOut []float64) {
	for i, v := range f {
		if Training(t.Set.Queries[i].ID) {
			training = append(training, v)
		} else {
			heldOut = append(heldOut, v)
		}
	}
	return training, heldOut
}

// Check returns an error if one of the halves has too few queries to say anything.
func (t *Tuner) Check() error {
	const least = 5
	training, heldOut := t.Halves(make(Figures, len(t.Set.Queries)))
	if len(training) < least || len(heldOut) < least {
		return fmt.Errorf("tune: %d queries to tune on and %d held out (want at least %d each: judge more queries)", len(training), len(heldOut), least)
	}
	return nil
}

// Measure returns the figures of all queries with some values.
func (t *Tuner) Measure(ctx context.Context, rank Rank, values []float64) (Figures, error) {
	return t.measure(ctx, rank, values, func(int) bool { return true })
}

func (t *Tuner) measure(ctx context.Context, rank Rank, values []float64, wanted func(query int) bool) (Figures, error) {
	out := make(Figures, len(t.Set.Queries))
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	workers := t.Concurrency
	if workers <= 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	var next atomic.Int64
	var running sync.WaitGroup
	for range workers {
		running.Go(func() {
			for ctx.Err() == nil {
				i := int(next.Add(1)) - 1
				if i >= len(out) {
					return
				}
				if !wanted(i) {
					continue
				}
				q := &t.Set.Queries[i]
				ranking, err := rank(ctx, i, values)
				if err != nil {
					cancel(fmt.Errorf("query %q: %w", q.ID, err))
					return
				}
				out[i] = t.Metric.Of(NewScored(ranking, q.Grades))
				t.step()
			}
		})
	}
	running.Wait()
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return out, nil
}

// step counts a measured ranking.
func (t *Tuner) step() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.done++
	if t.Progress != nil {
		t.Progress(t.done)
	}
}

// rounds bounds how often tuning goes through all parameters.
const rounds = 3

// Tune returns values that are good for the training half. It changes one parameter after the
// other to its best value, and starts again until none changes. A change that may be chance is not
// made: its mean gain must be above its standard error.
func (t *Tuner) Tune(ctx context.Context, parameters []Parameter, rank Rank) ([]float64, error) {
	s := &search{Tuner: t, rank: rank, known: map[string][]float64{}}
	values := make([]float64, len(parameters))
	for i, p := range parameters {
		values[i] = p.Now
	}
	for range rounds {
		before := slices.Clone(values)
		for i, p := range parameters {
			if err := s.improve(ctx, values, i, p.Values); err != nil {
				return nil, err
			}
		}
		if slices.Equal(values, before) {
			break
		}
	}
	return values, nil
}

// search is one run of [Tuner.Tune].
type search struct {
	*Tuner
	rank Rank
	// known are the figures of the training half by the values of the parameters.
	known map[string][]float64
}

// improve sets one of the values to the best of some.
func (s *search) improve(ctx context.Context, values []float64, at int, choices []float64) error {
	now, err := s.training(ctx, values)
	if err != nil {
		return err
	}
	best, figures := values[at], now
	other := slices.Clone(values)
	for _, other[at] = range choices {
		f, err := s.training(ctx, other)
		if err != nil {
			return err
		}
		if mean(f) > mean(figures)+equal {
			best, figures = other[at], f
		}
	}
	if isClear(now, figures) {
		values[at] = best
	}
	return nil
}

// training returns the figures of the training half.
func (s *search) training(ctx context.Context, values []float64) ([]float64, error) {
	key := fmt.Sprint(values)
	if f, ok := s.known[key]; ok {
		return f, nil
	}
	all, err := s.measure(ctx, s.rank, values, func(i int) bool { return Training(s.Set.Queries[i].ID) })
	if err != nil {
		return nil, err
	}
	s.known[key], _ = s.Halves(all)
	return s.known[key], nil
}

// isClear reports whether the mean gain of paired figures is above its standard error.
func isClear(before, after []float64) bool {
	gains := make([]float64, len(before))
	for i := range gains {
		gains[i] = after[i] - before[i]
	}
	m, sum := mean(gains), 0.0
	for _, g := range gains {
		sum += (g - m) * (g - m)
	}
	n := float64(len(gains))
	return m > equal && m > math.Sqrt(sum/(n-1)/n)
}

// Tuning is what tuning a configuration found. Its JSON form is the output of the command.
type Tuning struct {
	Config string `json:"config"`
	Metric string `json:"metric"`
	// Training and HeldOut are the numbers of queries of the halves.
	Training int `json:"queries_training"`
	HeldOut  int `json:"queries_held_out"`
	// Results are those of the retrievers, then those of the steps.
	Results []TuneResult `json:"results"`
	// YAML has the tuned values in the form of anchor.yaml.
	YAML     string   `json:"yaml"`
	Warnings []string `json:"warnings,omitempty"`
}

// TuneResult is one tuned retriever of the configuration, or the weights of one step.
type TuneResult struct {
	// Kind is "retriever" or "step", and Name the name in the configuration.
	Kind string `json:"kind"`
	Name string `json:"name"`
	// Rows are the parts alone, the defaults, the configuration as it is, and the tuned values.
	Rows []TuneRow `json:"rows"`
	// Difference compares the configuration as it is with the tuned values on the held-out half.
	Difference Difference `json:"difference"`
}

// TuneRow has the figures of some values. They are means over the queries of each half.
type TuneRow struct {
	Name     string             `json:"name"`
	Values   map[string]float64 `json:"values,omitempty"`
	Training float64            `json:"training"`
	HeldOut  float64            `json:"held_out"`
}

// Row returns the means of figures.
func (t *Tuner) Row(name string, values map[string]float64, f Figures) TuneRow {
	training, heldOut := t.Halves(f)
	return TuneRow{Name: name, Values: values, Training: mean(training), HeldOut: mean(heldOut)}
}
