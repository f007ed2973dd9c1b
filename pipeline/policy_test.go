package pipeline

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/anchor-host/anchor-host/pipeline/fill"
)

// slow are parts of a build that do not heed their context: only a goroutine that is left
// behind keeps them from holding up the build. Each changes what it was given once it may.
type slow struct{ release chan struct{} }

func (s slow) Items(_ context.Context, q *Query) ([]Item, error) {
	<-s.release
	q.Text = "spoiled"
	return docs("late"), nil
}

func (s slow) Enrich(_ context.Context, _ string, items []Item) (string, error) {
	<-s.release
	items[0].Content = "spoiled"
	return "late", nil
}

func (s slow) FormatType() string { return "slow" }

func (s slow) Format(_ context.Context, w *Window) (any, error) {
	<-s.release
	w.Items[0].Content = "spoiled"
	return "late", nil
}

func (s slow) Classify(_ context.Context, q *Query) (string, error) {
	<-s.release
	q.Text = "spoiled"
	return "late", nil
}

type offering []Item

func (o offering) Items(context.Context, *Query) ([]Item, error) { return o, nil }

// byName finds one document that is called like the query.
type byName struct{}

func (byName) Retrieve(_ context.Context, q *Query, _ int) ([]Item, error) { return docs(q.Text), nil }

// A native part that outlives its timeout is left behind. Under Skip the build goes on as after
// any other failure, and what the part does later changes nothing.
func TestTimeoutsOfParts(t *testing.T) {
	const timeout = 10 * time.Millisecond
	remembered := Item{ID: "m", Content: "m", Source: SourceMemory, Score: 0.5, Priority: 5, TokenCount: 1, CreatedAt: seedEpoch}
	for _, tc := range []struct {
		part, stage string
		set         func(*Config, slow, OnError)
	}{
		{MemoryPart, "memory", func(c *Config, s slow, o OnError) { c.Memory, c.MemoryOnError, c.MemoryTimeout = s, o, timeout }},
		{EnricherPart, "enrich", func(c *Config, s slow, o OnError) {
			c.Memory = offering{remembered}
			c.Enricher, c.EnricherOnError, c.EnricherTimeout = s, o, timeout
		}},
		{FormatterPart, "format", func(c *Config, s slow, o OnError) {
			c.Formatter, c.FormatterOnError, c.FormatterTimeout = s, o, timeout
		}},
		{FormatterPart, "fill", func(c *Config, s slow, o OnError) {
			c.Fit = fill.FitExact
			c.Formatter, c.FormatterOnError, c.FormatterTimeout = s, o, timeout
		}},
		{"route." + ClassifierPart, "step", func(c *Config, s slow, o OnError) {
			routes := map[string]Retriever{"any": byName{}}
			c.Steps = append(c.Steps, StepConfig{Name: "route", OnError: o, Timeout: timeout, Step: ClassifiedStep(s, routes, "any", 0)})
		}},
	} {
		t.Run(tc.stage+"/"+tc.part, func(t *testing.T) {
			s := slow{make(chan struct{})}
			defer close(s.release)
			config := func(o OnError) Config {
				cfg := Config{SystemPrompts: []SystemPrompt{{Content: "brief"}}, Steps: []StepConfig{{Name: "found", Step: RetrieverStep(byName{}, 1)}}}
				tc.set(&cfg, s, o)
				return cfg
			}
			_, err := mustNew(t, config(Raise)).Build(t.Context(), Query{Text: "q"})
			var failed *BuildError
			if !errors.As(err, &failed) || failed.Stage != tc.stage || !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "no answer within 10ms") {
				t.Errorf("raise: error %v", err)
			}
			r := mustBuild(t, config(Skip))
			if !slices.Equal(r.Diagnostics.SkippedSteps, []string{tc.part}) || r.Diagnostics.StepFailures[0].Reason != "timeout" {
				t.Errorf("skip: %+v", r.Diagnostics.StepFailures)
			}
			if out, ok := r.Output.(string); !ok || !strings.Contains(out, "brief") || !strings.Contains(out, "q") || strings.Contains(out, "spoiled") {
				t.Errorf("skip: output %v", r.Output)
			}
			if _, err := New(config("maybe")); !errors.Is(err, ErrInvalid) {
				t.Errorf("on_error maybe: error %v", err)
			}
		})
	}
	for _, cfg := range []Config{{MemoryTimeout: -1}, {EnricherTimeout: -1}, {FormatterTimeout: -1}} {
		if _, err := New(cfg); !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), "timeout") {
			t.Errorf("error %v", err)
		}
	}
}

// failingFormatter fails from the n-th call on.
type failingFormatter struct {
	n     int64
	calls *atomic.Int64
}

func (failingFormatter) FormatType() string { return "failing" }

func (f failingFormatter) Format(_ context.Context, w *Window) (any, error) {
	if f.calls.Add(1) > f.n {
		return nil, errors.New("no more")
	}
	return strings.Repeat("x ", 3*len(w.Items)), nil
}

// Wherever a formatter fails, the window is the one that the fallback alone would have got.
func TestFormatterFallback(t *testing.T) {
	items := StepFunc(func(_ context.Context, _ *Query, items []Item) ([]Item, error) {
		return append(items, docs("a", "b", "c", "d", "e", "f")...), nil
	})
	for _, fit := range []fill.Fit{fill.FitItems, fill.FitExact} {
		cfg := Config{MaxTokens: 15, Fit: fit, Truncate: fill.Truncation{At: fill.CutCharacter}, Explain: true,
			Steps: []StepConfig{{Name: "s", Step: items}}}
		want := mustBuild(t, cfg)
		for n := range int64(4) {
			cfg.Formatter, cfg.FormatterOnError = failingFormatter{n, new(atomic.Int64)}, Skip
			got := mustBuild(t, cfg)
			if fit == fill.FitItems && n > 0 {
				continue // it is called once
			}
			if got.Output != want.Output || got.FormatType != want.FormatType || got.Counted != want.Counted ||
				len(got.Overflow) != len(want.Overflow) || got.Window.UsedTokens != want.Window.UsedTokens {
				t.Errorf("%s, %d calls: %q, want %q", fit, n, got.Output, want.Output)
			}
			if !slices.Equal(got.Diagnostics.SkippedSteps, []string{FormatterPart}) || trace(t, got) != trace(t, want) {
				t.Errorf("%s, %d calls: %+v", fit, n, got.Diagnostics.StepFailures)
			}
		}
	}
	cfg := Config{Formatter: failingFormatter{calls: new(atomic.Int64)}, FormatterOnError: Skip, FormatterFallback: failingFormatter{calls: new(atomic.Int64)}}
	_, err := mustNew(t, cfg).Build(t.Context(), Query{Text: "q"})
	var failed *BuildError
	if !errors.As(err, &failed) || failed.Stage != "format" || len(failed.Diagnostics.SkippedSteps) != 1 {
		t.Errorf("a fallback that fails: %v", err)
	}
}

// failingTokenizer counts runes until its n-th call.
type failingTokenizer struct {
	n     int64
	calls *atomic.Int64
}

func (failingTokenizer) Name() string { return "failing" }

func (f failingTokenizer) Count(_ context.Context, texts ...string) ([]int, error) {
	if f.calls.Add(1) > f.n {
		panic("no more")
	}
	counts := make([]int, len(texts))
	for i, text := range texts {
		counts[i] = len(text)
	}
	return counts, nil
}

func (f failingTokenizer) Truncate(_ context.Context, text string, most int) (string, error) {
	if f.calls.Add(1) > f.n {
		return "", errors.New("no more")
	}
	return text[:min(len(text), most)], nil
}

// At whichever call a tokenizer fails, the build is the one that the second alone makes.
func TestFallbackTokenizer(t *testing.T) {
	step := StepFunc(func(_ context.Context, _ *Query, items []Item) ([]Item, error) {
		for _, text := range []string{"one two three. four five", "six seven", "eight nine ten eleven"} {
			it := doc(text[:3])
			it.Content, it.TokenCount = text, 0
			items = append(items, it)
		}
		return items, nil
	})
	for _, fit := range []fill.Fit{fill.FitItems, fill.FitExact} {
		cfg := Config{MaxTokens: 12, Fit: fit, Truncate: fill.Truncation{At: fill.CutCharacter, MinTokens: 1}, Explain: true,
			SystemPrompts: []SystemPrompt{{Content: "be brief"}}, Steps: []StepConfig{{Name: "s", Step: step}}}
		want := mustBuild(t, cfg)
		failures := 0
		for n := range int64(200) {
			cfg := cfg
			first := NewFallbackTokenizer(failingTokenizer{n, new(atomic.Int64)}, WordTokenizer())
			cfg.Tokenizer = first
			cfg.MaxTokens = 12
			p := mustNew(t, cfg)
			got, err := p.Build(t.Context(), Query{Text: "q"})
			if first.Failure() == nil {
				break
			}
			failures++
			if err != nil || got.Output != want.Output || got.Window.UsedTokens != want.Window.UsedTokens || got.Counted != want.Counted ||
				!slices.Equal(got.Diagnostics.SkippedSteps, []string{TokenizerPart}) || first.Name() != "words" {
				t.Fatalf("%s, %d calls: %+v, error %v\nwant %+v", fit, n, got, err, want)
			}
			again, err := p.Build(t.Context(), Query{Text: "q"})
			if err != nil || again.Output != want.Output || len(again.Diagnostics.SkippedSteps) != 1 {
				t.Fatalf("%s, %d calls, again: %+v, error %v", fit, n, again, err)
			}
		}
		if failures < 2 {
			t.Errorf("%s: the tokenizer was called %d times", fit, failures)
		}
	}
}

// The end of a build is no failure of its tokenizer.
func TestFallbackTokenizerOfAnEndedBuild(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	f := NewFallbackTokenizer(failingTokenizer{calls: new(atomic.Int64)}, WordTokenizer())
	if _, err := f.Count(ctx, "a"); err == nil || f.Failure() != nil {
		t.Errorf("error %v, failure %v", err, f.Failure())
	}
	if _, err := f.Truncate(ctx, "a", 1); err == nil || f.Failure() != nil {
		t.Errorf("error %v, failure %v", err, f.Failure())
	}
	if n, err := f.Count(t.Context(), "a b"); err != nil || n[0] != 2 || f.Failure() == nil || f.Name() != "words" {
		t.Errorf("%v, error %v, failure %v", n, err, f.Failure())
	}
}

// Under Skip a step whose classifier fails takes the default route; if that fails too, or if
// there is none, the step is skipped.
func TestClassifierFallback(t *testing.T) {
	lost := errors.New("lost")
	fails := classifierFunc(func(context.Context, *Query) (string, error) { return "", lost })
	broken := retrieverFunc(func(context.Context, *Query, int) ([]Item, error) { return nil, errors.New("no route") })
	invalid := retrieverFunc(func(context.Context, *Query, int) ([]Item, error) { return []Item{{Score: 7}}, nil })
	for _, tc := range []struct {
		route   Retriever
		def     string
		policy  OnError
		skipped []string
		items   int
	}{
		{byName{}, "any", Skip, []string{"route." + ClassifierPart}, 2},
		{byName{}, "", Skip, []string{"route"}, 1},
		{broken, "any", Skip, []string{"route"}, 1},
		{invalid, "any", Skip, []string{"route"}, 1},
		{byName{}, "any", Raise, nil, 0},
	} {
		for _, beside := range []bool{false, true} {
			cfg := Config{Steps: []StepConfig{{Name: "route", OnError: tc.policy, Step: ClassifiedStep(fails, map[string]Retriever{"any": tc.route}, tc.def, 0)}}}
			other := StepConfig{Name: "other", Step: RetrieverStep(byName{}, 0)}
			if !beside {
				other.Priority = 60
			}
			cfg.Steps = append(cfg.Steps, other)
			r, err := mustNew(t, cfg).Build(t.Context(), Query{Text: "q"})
			if tc.policy == Raise {
				if !errors.Is(err, lost) {
					t.Errorf("raise: error %v", err)
				}
				continue
			}
			if err != nil || !slices.Equal(r.Diagnostics.SkippedSteps, tc.skipped) || len(r.Window.Items) != tc.items || !strings.Contains(r.Diagnostics.StepFailures[0].Message, "lost") {
				t.Errorf("%+v: %+v, error %v", tc, r, err)
			}
			if ran := slices.ContainsFunc(r.Diagnostics.Steps, func(s StepDiagnostic) bool { return s.Name == "route" }); ran != (tc.items == 2) {
				t.Errorf("%+v: steps %+v", tc, r.Diagnostics.Steps)
			}
		}
	}
}

type classifierFunc func(ctx context.Context, q *Query) (string, error)

func (f classifierFunc) Classify(ctx context.Context, q *Query) (string, error) { return f(ctx, q) }

// trace is the trace of a build as text.
func trace(t *testing.T, r *Result) string {
	t.Helper()
	text, err := json.Marshal(r.Diagnostics.Items)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
