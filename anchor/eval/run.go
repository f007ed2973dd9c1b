package eval

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/anchor-host/anchor-host/pipeline"
)

// ErrMapping is the error of a run whose items name no document of the corpus.
var ErrMapping = errors.New("no retrieved item names a document of the corpus")

// Builder builds context windows; it must be safe for concurrent use.
type Builder interface {
	Build(ctx context.Context, q pipeline.Query) (*pipeline.Result, error)
}

// Options are the settings of an evaluation.
type Options struct {
	// Metrics are the metrics to measure; nil means [DefaultKinds] at [DefaultDepths].
	Metrics []Metric
	// Depth is the depth of the nDCG of the waterfall, which is always measured; see [Depth].
	// 0 means [DefaultDepth].
	Depth  int
	Ranker Ranker
	// Concurrency is the largest number of builds at the same time; 0 means one per processor.
	Concurrency int
	// Progress, if set, is called after each build. Calls come one after another.
	Progress func(done, total int)
}

// DefaultDepth is the depth of the waterfall's nDCG.
const DefaultDepth = 10

// Depth returns the depth of the waterfall for the depths of the metrics: [DefaultDepth]
// if it is one of them, else the greatest. There is at least one.
func Depth(depths []int) int {
	if slices.Contains(depths, DefaultDepth) {
		return DefaultDepth
	}
	return slices.Max(depths)
}

// waterfallMetrics are the metrics of the waterfall: how many relevant documents a stage
// has, how well they are ordered, and at which rank the first one is.
func waterfallMetrics(depth int) []Metric {
	return []Metric{{Kind: "recall"}, {Kind: "ndcg", K: depth}, {Kind: "mrr"}}
}

// WindowStage is the name of the last stage: the items that the budget admitted.
const WindowStage = "window"

// Outcome is the result of one query.
type Outcome struct {
	Query *Judged
	// Stages are the steps in the order in which they ran, then the window.
	Stages []StageOutcome
	// Relevant are the relevant documents, by grade and id.
	Relevant []Relevant
	// TimeMS is the wall time of the build in milliseconds.
	TimeMS float64
}

// StageOutcome is one stage of one query.
type StageOutcome struct {
	Name string
	// Items is the number of items of source retrieval, and Documents the number of
	// documents that they belong to.
	Items, Documents int
	// Values are the metrics, in the order of the run's metrics.
	Values []float64
	// Skipped is the reason why the step was skipped, empty if it was not.
	Skipped string
}

// Run is the result of evaluating a set.
type Run struct {
	Set      *Set
	Metrics  []Metric
	Depth    int
	Outcomes []Outcome
	// Unknown is the number of retrieved documents, over all queries, that are not in the
	// corpus. UnknownExample is one of their ids.
	Unknown        int
	UnknownExample string
}

// Evaluate makes one build for each query and measures every stage. The first build that
// fails ends the evaluation.
func Evaluate(ctx context.Context, b Builder, set *Set, o Options) (*Run, error) {
	if o.Metrics == nil {
		o.Metrics, _ = Metrics(DefaultKinds, DefaultDepths) // no error: both lists are valid
	}
	if o.Concurrency <= 0 {
		o.Concurrency = runtime.GOMAXPROCS(0)
	}
	o.Depth = cmp.Or(o.Depth, DefaultDepth)
	run := &Run{
		Set: set, Depth: o.Depth, Outcomes: make([]Outcome, len(set.Queries)),
		Metrics: unique(slices.Concat(o.Metrics, waterfallMetrics(o.Depth))),
	}
	inner, cancel := context.WithCancel(ctx)
	defer cancel()
	w := &workers{run: run, builder: b, options: o, cancel: cancel}
	var running sync.WaitGroup
	for range min(o.Concurrency, len(set.Queries)) {
		running.Go(func() { w.work(inner) })
	}
	running.Wait()
	if w.err != nil {
		return nil, w.err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if w.known == 0 && w.run.Unknown > 0 {
		return nil, fmt.Errorf("%w, for instance %q (say where the id is, by id metadata or id cut, and see that the configuration indexes this corpus)", ErrMapping, w.run.UnknownExample)
	}
	return w.run, w.run.sameStages()
}

// workers are the builds of one run.
type workers struct {
	run     *Run
	builder Builder
	options Options
	cancel  context.CancelFunc
	next    atomic.Int64

	mu    sync.Mutex
	err   error
	done  int
	known int
}

// work evaluates one query after another until none is left.
func (w *workers) work(ctx context.Context) {
	for ctx.Err() == nil {
		i := int(w.next.Add(1)) - 1
		if i >= len(w.run.Outcomes) {
			return
		}
		q := &w.run.Set.Queries[i]
		rec := &recorder{ranker: &w.options.Ranker}
		result, err := w.builder.Build(context.WithValue(ctx, recorderKey{}, rec), pipeline.Query{Text: q.Text})
		if err == nil {
			w.run.Outcomes[i] = w.outcome(q, rec, result)
		}
		w.finish(q, rec, err)
	}
}

// finish records the end of a build. The first error ends the run.
func (w *workers) finish(q *Judged, rec *recorder, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.err != nil:
		return
	case err != nil:
		w.err = fmt.Errorf("query %q: %w", q.ID, err)
		w.cancel()
		return
	}
	w.check(rec)
	w.done++
	if w.options.Progress != nil {
		w.options.Progress(w.done, len(w.run.Outcomes))
	}
}

// check counts the retrieved documents that are in the corpus, and those that are not.
func (w *workers) check(rec *recorder) {
	seen := map[string]bool{}
	for _, s := range rec.stages {
		for _, x := range s.rows {
			switch {
			case seen[x.document]:
				continue
			case w.run.Set.Corpus.Has(x.document):
				w.known++
			default:
				w.run.Unknown++
				if w.run.UnknownExample == "" || x.document < w.run.UnknownExample {
					w.run.UnknownExample = x.document
				}
			}
			seen[x.document] = true
		}
	}
}

// outcome measures the stages of a build and determines the fates of its relevant documents.
func (w *workers) outcome(q *Judged, rec *recorder, result *pipeline.Result) Outcome {
	rows, n := rec.ranker.rows(result.Window.Items)
	stages := append(rec.stages, stage{name: WindowStage, rows: rows, items: n})
	o := Outcome{Query: q, TimeMS: result.BuildTimeMS, Relevant: follow(q.Grades, stages, rec.ranker, result.Overflow)}
	for i := range stages {
		s := &stages[i]
		ranking := make([]string, len(s.rows))
		for j := range s.rows {
			ranking[j] = s.rows[j].document
		}
		scored := NewScored(ranking, q.Grades)
		values := make([]float64, len(w.run.Metrics))
		for j, m := range w.run.Metrics {
			values[j] = m.Of(scored)
		}
		o.Stages = append(o.Stages, StageOutcome{Name: s.name, Items: s.items, Documents: len(s.rows), Values: values, Skipped: s.skipped})
	}
	return o
}

// sameStages returns an error unless every build ran the same steps. Otherwise their stages
// could not be averaged.
func (r *Run) sameStages() error {
	names := func(o *Outcome) (list []string) {
		for i := range o.Stages {
			list = append(list, o.Stages[i].Name)
		}
		return list
	}
	want := names(&r.Outcomes[0])
	if len(want) == 1 {
		return fmt.Errorf("no step was observed: %w (the configuration needs steps)", pipeline.ErrInvalid)
	}
	for i := range r.Outcomes {
		if got := names(&r.Outcomes[i]); !slices.Equal(got, want) {
			return fmt.Errorf("query %q: steps %q, others had %q: %w", r.Outcomes[i].Query.ID, got, want, pipeline.ErrInvalid)
		}
	}
	return nil
}

// values returns the values of a metric at a stage, one per query.
func (r *Run) values(stage, metric int) []float64 {
	out := make([]float64, len(r.Outcomes))
	for i := range r.Outcomes {
		out[i] = r.Outcomes[i].Stages[stage].Values[metric]
	}
	return out
}
