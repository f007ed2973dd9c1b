package shadow

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/anchor-host/anchor-host/anchor/shadows"
	"github.com/anchor-host/anchor-host/internal/config"
	"github.com/anchor-host/anchor-host/internal/testkit/await"
	"github.com/anchor-host/anchor-host/internal/usedfuel"
	"github.com/anchor-host/anchor-host/pipeline"
)

// changing is a step of a plugin that changes items.
type changing func(ctx context.Context, items []pipeline.Item) ([]pipeline.Item, error)

func (changing) Isolated() {}

func (c changing) Run(ctx context.Context, _ *pipeline.Query, items []pipeline.Item) ([]pipeline.Item, error) {
	return c(ctx, items)
}

func (c changing) RunInto(ctx context.Context, _ *pipeline.Query, items, _ []pipeline.Item) ([]pipeline.Item, error) {
	return c(ctx, items)
}

func same(_ context.Context, items []pipeline.Item) ([]pipeline.Item, error) { return items, nil }

// adding is a step of a plugin that finds items.
type adding []pipeline.Item

func (adding) Isolated() {}

func (a adding) Append(context.Context, *pipeline.Query, []pipeline.Item) ([]pipeline.Item, error) {
	return a, nil
}

func (a adding) Run(_ context.Context, _ *pipeline.Query, items []pipeline.Item) ([]pipeline.Item, error) {
	return append(items, a...), nil
}

func items(texts string) (list []pipeline.Item) {
	for _, text := range strings.Fields(texts) {
		list = append(list, pipeline.Item{ID: text, Content: text, TokenCount: 1, Metadata: map[string]any{"n": "1"}})
	}
	return list
}

type set struct {
	*Set
	t    *testing.T
	held int
	step pipeline.Step
}

func wrap(t *testing.T, first, second pipeline.Step, of config.Shadow) *set {
	t.Helper()
	s := &set{Set: &Set{}, t: t}
	if of.Use = "second"; of.Share == 0 {
		of.Share = 100
	}
	var err error
	done := make(chan struct{}, 1000)
	s.step, err = s.Wrap(first, second, &config.Step{Name: "s", Shadow: &of}, Judge{}, func() func() { s.held++; return func() { done <- struct{}{} } })
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func (s *set) call(list []pipeline.Item, want string) {
	s.t.Helper()
	out, err := s.step.Run(s.t.Context(), &pipeline.Query{Text: "q"}, list)
	var texts []string
	for _, it := range out {
		texts = append(texts, it.Content)
	}
	if err != nil || strings.Join(texts, " ") != want {
		s.t.Errorf("the step returns %v, %v; want %s", texts, err, want)
	}
}

// calls waits until the second version had n calls.
func (s *set) calls(n int64) shadows.Comparison {
	s.t.Helper()
	if !await.True(func() bool { return s.Reports()[0].Calls == n }) {
		s.t.Fatalf("%+v", s.Reports()[0])
	}
	return s.Reports()[0]
}

// The second version works on copies: whatever it does to its items, the build has what the first returned.
// The report says how both differ.
func TestCompares(t *testing.T) {
	second := changing(func(ctx context.Context, items []pipeline.Item) ([]pipeline.Item, error) {
		usedfuel.Add(ctx, 500)
		slices.Reverse(items)
		for i := range items {
			items[i].Metadata["n"] = "changed"
		}
		return items[1:], nil
	})
	first := changing(func(ctx context.Context, items []pipeline.Item) ([]pipeline.Item, error) {
		usedfuel.Add(ctx, 100)
		return items, nil
	})
	s := wrap(t, first, second, config.Shadow{})
	list := items("a b c d")
	meter := &usedfuel.Meter{}
	for n := range int64(20) {
		if _, err := s.step.Run(meter.Under(t.Context()), &pipeline.Query{}, list); err != nil {
			t.Fatal(err)
		}
		s.calls(n + 1)
	}
	s.call(list, "a b c d")
	r := s.calls(21)
	if r.Overlap.Mean != 0.75 || r.Order.Mean != 0 || r.Changed.Mean != 1 || r.Failures.Mean != 0 || r.First.Tokens != 4 || r.Second.Tokens != 3 || r.First.Fuel != 100 || r.Second.Fuel != 500 {
		t.Errorf("%+v", r)
	}
	if !(r.Overlap.Low < 0.75 && 0.75 < r.Overlap.High && r.Changed.Low > 0.5 && r.Changed.High == 1) {
		t.Errorf("%+v", r)
	}
	if list[0].Metadata["n"] != "1" || meter.Fuel() != 2000 {
		t.Errorf("the build has %v, and used %d", list[0], meter.Fuel())
	}
}

// A second version that waits, fails, panics or uses too much fuel delays nothing and changes nothing.
func TestNeverDelays(t *testing.T) {
	goOn := make(chan struct{})
	s := wrap(t, changing(same), changing(func(ctx context.Context, _ []pipeline.Item) ([]pipeline.Item, error) {
		<-goOn
		usedfuel.Add(ctx, 10)
		panic("second")
	}), config.Shadow{Fuel: 30})
	const n = 100
	for range n {
		s.call(items("a b"), "a b")
	}
	r := s.Reports()[0]
	if r.Calls != 0 || r.Dropped.Busy < n-2*maxWaiting-2 {
		t.Errorf("while it waits: %+v", r)
	}
	close(goOn)
	taken := n - r.Dropped.Busy
	r = s.calls(taken)
	if r.Failures.Mean != 1 || !strings.Contains(r.LastError, "second") || s.held != int(taken) {
		t.Errorf("%+v, held %d times", r, s.held)
	}
	s.call(items("a"), "a")
	if r := s.Reports()[0]; r.Dropped.Fuel != 1 {
		t.Errorf("after its fuel: %+v", r)
	}
	s.call(items(strings.Repeat("a ", maxItems+1)), strings.TrimSpace(strings.Repeat("a ", maxItems+1)))
	if r := s.Reports()[0]; r.Dropped.Large != 1 {
		t.Errorf("after many items: %+v", r)
	}
}

// The share is kept, a first version that fails is not compared, and a step that finds items stays one.
func TestShare(t *testing.T) {
	s := wrap(t, adding(items("x y")), adding(items("x z")), config.Shadow{Share: 20})
	if _, ok := s.step.(pipeline.Appender); !ok {
		t.Fatal("the step does not add any more")
	}
	for range 1000 {
		s.call(items("a"), "a x y")
		if !await.True(func() bool { r := s.Reports()[0]; return r.Calls+r.Dropped.Busy == int64(s.held) }) {
			t.Fatal("a call is lost")
		}
	}
	r := s.Reports()[0]
	if r.Calls < 100 || r.Calls > 300 || r.Overlap.Mean < 0.33 || r.Overlap.Mean > 0.34 {
		t.Errorf("%+v", r)
	}
	broken := wrap(t, changing(func(context.Context, []pipeline.Item) ([]pipeline.Item, error) { return nil, errors.New("no") }), changing(same), config.Shadow{})
	if _, err := broken.step.Run(t.Context(), &pipeline.Query{}, nil); err == nil || broken.held != 0 {
		t.Errorf("%v, %d", err, broken.held)
	}
	native := pipeline.FilterFunc(func(*pipeline.Item) bool { return true })
	if _, err := new(Set).Wrap(native, native, &config.Step{Shadow: &config.Shadow{}}, Judge{}, nil); !errors.Is(err, config.ErrInvalid) {
		t.Errorf("a step without a plugin: %v", err)
	}
}

func TestCompare(t *testing.T) {
	for _, c := range []struct {
		a, b           string
		overlap, order float64
		ranked         bool
	}{
		{"", "", 1, 0, false}, {"a", "", 0, 0, false}, {"a", "a", 1, 0, false}, {"a b", "a b", 1, 1, true}, {"a b", "b a", 1, 0, true},
		{"a b c", "c a b", 1, 1. / 3, true}, {"a b c", "c d a", 0.5, 0, true}, {"a a b", "a b b", 1, 1, true},
	} {
		overlap, order, ranked := compare(keysOf(items(c.a)), keysOf(items(c.b)))
		if overlap != c.overlap || order != c.order || ranked != c.ranked {
			t.Errorf("%q and %q: %v, %v, %v", c.a, c.b, overlap, order, ranked)
		}
	}
}

// A step with a second version costs little for the calls that it does not get.
func BenchmarkNotSampled(b *testing.B) {
	s := &Set{}
	step, err := s.Wrap(changing(same), changing(same), &config.Step{Shadow: &config.Shadow{Share: 0.01}}, Judge{}, func() func() { return func() {} })
	if err != nil {
		b.Fatal(err)
	}
	list, q := items("a b c"), &pipeline.Query{}
	for b.Loop() {
		_, _ = step.Run(b.Context(), q, list)
	}
	if s.Reports()[0].Calls > int64(b.N) {
		b.Error(time.Now())
	}
}
