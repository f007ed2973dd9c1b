// Package shadow runs a second version of a step beside the first one, on copies and after the first has
// answered, and compares what both return. It never changes a build, and never lets one wait.
package shadow

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/anchor-host/anchor-host/anchor/shadows"
	"github.com/anchor-host/anchor-host/internal/config"
	"github.com/anchor-host/anchor-host/internal/listwriter"
	"github.com/anchor-host/anchor-host/internal/usedfuel"
	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/pipeline/core"
	"github.com/anchor-host/anchor-host/pipeline/explain"
)

// The bounds of all second versions of a configuration.
const (
	// maxWaiting bounds the calls that wait for the worker.
	maxWaiting = 8
	// maxItems and maxText bound what is copied for one call: its items, and the bytes of their texts.
	maxItems, maxText = 2000, 2 << 20
	// callTime bounds one call of a second version.
	callTime = 5 * time.Second
	// The defaults of the settings.
	defaultShare, defaultFuel = 10, 10_000_000_000
)

// Second returns the second version of a step that has one.
func Second(s *config.Step) *config.Step {
	second := *s
	second.Use, second.Shadow = config.Use{Name: s.Shadow.Use, Settings: s.Settings, Timeout: s.Timeout}, nil
	return &second
}

// Set has the second versions of one configuration. The zero value is ready. Calls run one after another.
type Set struct {
	mu    sync.Mutex
	list  []*runner
	queue chan task
	// asked are the judged questions of the configuration, which the first step with a second version reads.
	asked questions
	read  sync.Once
}

// runner is the second version of a step.
type runner struct {
	name     string // of the step
	settings config.Shadow
	step     pipeline.Step
	set      *Set
	by       Judge
	hold     func() (release func())

	mu     sync.Mutex
	sums   sums
	minute time.Time // when the fuel of now began to count
	spent  int64
}

// task is a call that the second version gets.
type task struct {
	*runner
	ctx     context.Context
	query   pipeline.Query
	items   []pipeline.Item
	asks    *question // nil: it is not judged
	first   outcome
	release func()
}

// Wrap returns a step that does what first does, and lets second do the same now and then, as the configuration of
// the step says. by judges both. hold keeps open what second needs. The error wraps [config.ErrInvalid] for a step that
// does not call one plugin.
func (s *Set) Wrap(first, second pipeline.Step, of *config.Step, by Judge, hold func() (release func())) (out pipeline.Step, err error) {
	r := &runner{name: of.Name, settings: *of.Shadow, step: second, set: s, by: by, hold: hold}
	r.settings.Share, r.settings.Fuel = cmp.Or(r.settings.Share, defaultShare), cmp.Or(r.settings.Fuel, defaultFuel)
	switch of := first.(type) {
	case listwriter.Step:
		out = &changes{of, r}
	case appender:
		out = &appends{of, r}
	default:
		return nil, fmt.Errorf("%w: shadow: the step calls no plugin that finds or changes items (leave it out)", config.ErrInvalid)
	}
	s.read.Do(func() { s.asked = readQuestions(by.File) })
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.queue == nil {
		s.queue = make(chan task, maxWaiting)
	}
	s.list = append(s.list, r)
	return out, nil
}

// Reports describes all second versions so far.
func (s *Set) Reports() (list []shadows.Comparison) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.list {
		r.mu.Lock()
		c := r.sums.report(r.name, r.settings.Use)
		c.Quality = r.sums.quality.report(&s.asked)
		r.mu.Unlock()
		list = append(list, c)
	}
	return list
}

// appender is a step of a plugin that adds items.
type appender interface {
	pipeline.Appender
	pipeline.Isolated
}

// changes is a step that changes items.
type changes struct {
	listwriter.Step
	r *runner
}

func (c *changes) Module() explain.ModuleInfo { return moduleOf(c.Step) }

func (c *changes) Run(ctx context.Context, q *pipeline.Query, items []pipeline.Item) ([]pipeline.Item, error) {
	return c.RunInto(ctx, q, items, nil)
}

func (c *changes) RunInto(ctx context.Context, q *pipeline.Query, items, spare []pipeline.Item) ([]pipeline.Item, error) {
	return c.r.beside(ctx, q, items, func(ctx context.Context) ([]pipeline.Item, error) { return c.Step.RunInto(ctx, q, items, spare) })
}

// appends is a step that adds items.
type appends struct {
	appender
	r *runner
}

func (a *appends) Module() explain.ModuleInfo { return moduleOf(a.appender) }

func (a *appends) Append(ctx context.Context, q *pipeline.Query, items []pipeline.Item) ([]pipeline.Item, error) {
	return a.r.beside(ctx, q, items, func(ctx context.Context) ([]pipeline.Item, error) { return a.appender.Append(ctx, q, items) })
}

func (a *appends) Run(ctx context.Context, q *pipeline.Query, items []pipeline.Item) ([]pipeline.Item, error) {
	more, err := a.Append(ctx, q, items)
	if err != nil {
		return nil, err
	}
	return append(items[:len(items):len(items)], more...), nil
}

func moduleOf(v any) explain.ModuleInfo {
	if named, ok := v.(pipeline.ModuleNamer); ok {
		return named.Module()
	}
	return explain.ModuleInfo{}
}

// beside runs the first version, and offers its call to the second one if it is its turn.
func (r *runner) beside(ctx context.Context, q *pipeline.Query, items []pipeline.Item, first func(context.Context) ([]pipeline.Item, error)) ([]pipeline.Item, error) {
	if rand.Float64()*100 >= r.settings.Share {
		return first(ctx)
	}
	parent := usedfuel.TimerOf(ctx)
	m := &usedfuel.Meter{Timed: parent != nil}
	start := time.Now()
	out, err := first(m.Under(ctx))
	took := time.Since(start)
	usedfuel.Add(ctx, m.Fuel())
	if parent != nil {
		parent.AddTime(m.Times())
	}
	if err == nil { // a call that failed has nothing to compare with
		r.offer(ctx, q, items, out, outcome{keys: keysOf(out), tokens: tokensOf(out), took: took, fuel: m.Fuel()})
	}
	return out, err
}

// offer gives a call to the second version, unless there is no room or no fuel for it. out is what the first has returned.
func (r *runner) offer(ctx context.Context, q *pipeline.Query, items, out []pipeline.Item, first outcome) {
	text := 0
	for i := range items[:min(len(items), maxItems)] {
		text += len(items[i].Content)
	}
	r.mu.Lock()
	now := time.Now()
	if now.Sub(r.minute) >= time.Minute {
		r.minute, r.spent = now, 0
	}
	r.sums.offered++
	no := ""
	switch {
	case len(items) > maxItems || text > maxText:
		no, r.sums.dropped.Large = "large", r.sums.dropped.Large+1
	case r.spent >= r.settings.Fuel:
		no, r.sums.dropped.Fuel = "fuel", r.sums.dropped.Fuel+1
	case len(r.set.queue) == cap(r.set.queue):
		no, r.sums.dropped.Busy = "busy", r.sums.dropped.Busy+1
	}
	r.mu.Unlock()
	if no != "" {
		return
	}
	// The items do not change while the build uses the step, whose caller waits here.
	asks := r.asks(ctx, q)
	if asks != nil {
		first.found = r.by.found(out)
	}
	t := task{r, context.WithoutCancel(ctx), q.Clone(), core.CloneItems(items), asks, first, r.hold()}
	select {
	case r.set.queue <- t:
		go r.set.work()
	default:
		t.release()
		r.mu.Lock()
		r.sums.dropped.Busy++
		r.mu.Unlock()
	}
}

// work does one task. Only one runs at a time.
func (s *Set) work() {
	s.mu.Lock()
	queue := s.queue
	s.mu.Unlock()
	turn.Lock()
	defer turn.Unlock()
	t := <-queue
	defer t.release()
	t.run()
}

// turn lets the second versions of all configurations of a process run one at a time, so that they take one
// processor at most.
var turn sync.Mutex

// run runs the second version.
func (t *task) run() {
	ctx, cancel := context.WithTimeout(t.ctx, callTime)
	defer cancel()
	m := &usedfuel.Meter{}
	start := time.Now()
	var out []pipeline.Item
	err := core.Guard(func() (err error) {
		if a, ok := t.step.(pipeline.Appender); ok {
			out, err = a.Append(m.Under(ctx), &t.query, t.items)
		} else {
			out, err = t.step.Run(m.Under(ctx), &t.query, t.items)
		}
		return err
	})
	second := outcome{took: time.Since(start), fuel: m.Fuel()}
	if err == nil {
		second.keys, second.tokens = keysOf(out), tokensOf(out)
		if t.asks != nil {
			t.first.ndcg, second.ndcg = t.by.ndcg(t.first.found, t.asks), t.by.ndcg(t.by.found(out), t.asks)
		}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.spent += second.fuel
	t.sums.add(&t.first, &second, t.asks, err)
}
