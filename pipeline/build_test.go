package pipeline

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/anchor-host/anchor-host/pipeline/core"
	"github.com/anchor-host/anchor-host/pipeline/fill"
	"github.com/anchor-host/anchor-host/pipeline/format"
)

var errBoom = errors.New("boom")

// nested is an item whose metadata has maps and lists in it.
func nested(id string) Item {
	it := doc(id)
	it.Metadata = map[string]any{
		"tags": []any{"a", map[string]any{"deep": int64(1)}},
		"more": map[string]any{"x": 1.5},
		"list": []string{"native"},
		"odd":  map[string][]int{"n": {1}},
	}
	return it
}

// vandalise changes everything it can reach, in place.
func vandalise(q *Query, items []Item) {
	q.Text = "changed"
	q.Metadata["k"] = "changed"
	for i := range items {
		items[i].Content, items[i].Score = "changed", 1
		items[i].Metadata["tags"].([]any)[1].(map[string]any)["deep"] = int64(2)
		items[i].Metadata["more"].(map[string]any)["y"] = true
		items[i].Metadata["list"].([]string)[0] = "changed"
		items[i].Metadata["odd"].(map[string][]int)["n"][0] = 2
		items[i].Metadata["new"] = true
	}
	slices.Reverse(items)
}

func TestSkippedStepLeavesNoTrace(t *testing.T) {
	release := make(chan struct{})
	t.Cleanup(func() { close(release) })
	for name, bad := range map[string]StepConfig{
		"error": {Step: StepFunc(func(_ context.Context, q *Query, items []Item) ([]Item, error) {
			vandalise(q, items)
			return append(items, doc("extra")), errBoom
		})},
		"panic": {Step: StepFunc(func(_ context.Context, q *Query, items []Item) ([]Item, error) {
			vandalise(q, items)
			panic("boom")
		})},
		"invalid output": {Step: StepFunc(func(_ context.Context, q *Query, items []Item) ([]Item, error) {
			vandalise(q, items)
			items[0].Score = 2
			return items, nil
		})},
		"timeout": {Timeout: time.Millisecond, Step: StepFunc(func(_ context.Context, q *Query, items []Item) ([]Item, error) {
			vandalise(q, items)
			<-release
			vandalise(q, items) // continues after it was abandoned
			return nil, nil
		})},
		"filter": {Step: FilterFunc(func(it *Item) bool { vandalise(&Query{Metadata: map[string]any{}}, []Item{*it}); panic("boom") })},
		"scoped": {Step: Scope(StepFunc(func(_ context.Context, q *Query, items []Item) ([]Item, error) {
			vandalise(q, items)
			return nil, errBoom
		}), SourceRetrieval)},
	} {
		t.Run(name, func(t *testing.T) {
			given := []Item{nested("a"), nested("b")}
			bad.Name, bad.OnError = "bad", Skip
			var after []Item
			var text string
			p := mustNew(t, Config{Steps: []StepConfig{
				{Name: "give", Step: RetrieverStep(fixedRetriever(given), 0)},
				bad,
				{Name: "look", Step: StepFunc(func(_ context.Context, q *Query, items []Item) ([]Item, error) {
					after, text = core.CloneItems(items), q.Text+q.Metadata["k"].(string)
					return items, nil
				})},
			}})
			r, err := p.Build(t.Context(), Query{Text: "q", Metadata: map[string]any{"k": "v"}})
			if err != nil {
				t.Fatal(err)
			}
			want := []Item{nested("a"), nested("b")}
			if !reflect.DeepEqual(after, want) {
				t.Errorf("items after the skipped step:\n%+v\nwant\n%+v", after, want)
			}
			if text != "qv" {
				t.Errorf("query after the skipped step: %q", text)
			}
			if !slices.Equal(r.Diagnostics.SkippedSteps, []string{"bad"}) || len(r.Diagnostics.StepFailures) != 1 {
				t.Errorf("diagnostics %+v", r.Diagnostics)
			}
		})
	}
}

func TestStepErrorCarriesDiagnostics(t *testing.T) {
	p := mustNew(t, Config{Steps: []StepConfig{
		{Name: "give", Step: RetrieverStep(fixedRetriever(docs("a")), 0)},
		{Name: "shaky", OnError: Skip, Step: StepFunc(func(context.Context, *Query, []Item) ([]Item, error) { return nil, errBoom })},
		{Name: "bad", Step: StepFunc(func(context.Context, *Query, []Item) ([]Item, error) {
			return nil, fmt.Errorf("wrapped: %w", pluginFailure{})
		})},
	}})
	_, err := p.Build(t.Context(), Query{})
	var be *BuildError
	if !errors.As(err, &be) {
		t.Fatalf("%T", err)
	}
	if err.Error() != `step "bad": wrapped: out of fuel` || be.Stage != "step" || be.Step != "bad" {
		t.Errorf("error %q, stage %q, step %q", err, be.Stage, be.Step)
	}
	d := be.Diagnostics
	want := []StepFailure{{Step: "shaky", Message: "boom"}, {Step: "bad", Plugin: "bm25", Reason: "fuel", Message: "wrapped: out of fuel"}}
	if !slices.Equal(d.StepFailures, want) || d.FailedStep != "bad" || !slices.Equal(d.SkippedSteps, []string{"shaky"}) {
		t.Errorf("diagnostics %+v", d)
	}
	if len(d.Steps) != 1 || d.Steps[0].Name != "give" || d.Steps[0].ItemsAfter != 1 {
		t.Errorf("steps %+v", d.Steps)
	}
}

type pluginFailure struct{}

func (pluginFailure) Error() string      { return "out of fuel" }
func (pluginFailure) Reason() string     { return "fuel" }
func (pluginFailure) PluginName() string { return "bm25" }

func TestReasonOf(t *testing.T) {
	for want, err := range map[string]error{
		"":               errBoom,
		"fuel":           fmt.Errorf("x: %w", pluginFailure{}),
		"timeout":        fmt.Errorf("x: %w", context.DeadlineExceeded),
		"cancelled":      context.Canceled,
		"panic":          &PanicError{Value: 1},
		"invalid_output": (&Item{}).Validate(),
		"budget":         fmt.Errorf("x: %w", ErrBudget),
	} {
		if got := ReasonOf(err); got != want {
			t.Errorf("reason of %v: %q, want %q", err, got, want)
		}
	}
}

// broken panics wherever a pipeline calls it.
type broken struct{}

func (broken) Name() string                                              { return "broken" }
func (broken) FormatType() string                                        { return "broken" }
func (broken) Items(context.Context, *Query) ([]Item, error)             { panic("boom") }
func (broken) Enrich(context.Context, string, []Item) (string, error)    { panic("boom") }
func (broken) Count(context.Context, ...string) ([]int, error)           { panic("boom") }
func (broken) Truncate(context.Context, string, int) (string, error)     { panic("boom") }
func (broken) Format(context.Context, *Window) (any, error)              { panic("boom") }
func (broken) Run(context.Context, *Query, []Item) ([]Item, error)       { panic("boom") }
func (broken) Retrieve(context.Context, *Query, int) (i []Item, e error) { panic("boom") }

// dated is a formatter that learns the type by formatting.
type dated struct{ typ string }

func (dated) FormatType() string { return "dated" }
func (d dated) Format(_ context.Context, w *Window) (any, error) {
	return Formatted{Type: d.typ, Output: len(w.Items)}, nil
}

func TestFormatterStatesTheTypeOfItsOutput(t *testing.T) {
	for typ, want := range map[string]string{"dated-2": "dated-2", "": "dated"} {
		for _, fit := range []fill.Fit{fill.FitItems, fill.FitExact} {
			p, err := New(Config{Formatter: dated{typ}, Tokenizer: WordTokenizer(), Fit: fit, Memory: memories{{ID: "m", Content: "text", Source: SourceMemory, Priority: 8}}})
			if err != nil {
				t.Fatal(err)
			}
			r, err := p.Build(t.Context(), Query{Text: "q"})
			if err != nil || r.Output != 1 || r.FormatType != want {
				t.Errorf("%q: output %v of type %q, error %v (want 1, %q)", typ, r.Output, r.FormatType, err, want)
			}
		}
	}
}

// memories is a MemoryProvider of fixed items.
type memories []Item

func (m memories) Items(context.Context, *Query) ([]Item, error) { return m, nil }

func TestPanicsAreErrorsOfTheirStage(t *testing.T) {
	uncounted := memories{{ID: "m", Content: "text", Source: SourceMemory, Priority: 8}}
	for want, cfg := range map[string]Config{
		"memory: panic: boom": {Memory: broken{}},
		"enrich: panic: boom": {Memory: uncounted, Enricher: broken{}},
		`count: tokenizer "broken": count 1 texts: panic: boom`:             {Memory: uncounted, Tokenizer: broken{}},
		`system: tokenizer "broken": count 1 texts: panic: boom`:            {SystemPrompts: []SystemPrompt{{Content: "x"}}, Tokenizer: broken{}},
		`format: formatter "broken": format window of 0 items: panic: boom`: {Formatter: broken{}},
		`step "s": panic: boom`: {Steps: []StepConfig{{Name: "s", Step: broken{}}}},
		`step "r": panic: boom`: {Steps: []StepConfig{{Name: "r", Step: RetrieverStep(broken{}, 0)}, {Name: "r2", Step: RetrieverStep(broken{}, 0)}}},
	} {
		_, err := mustNew(t, cfg).Build(t.Context(), Query{})
		if err == nil || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
			continue
		}
		var pe *PanicError
		if !errors.Is(err, ErrPanic) || !errors.As(err, &pe) || !strings.Contains(fmt.Sprintf("%+v", pe), "build_test.go") {
			t.Errorf("%v has no panic with a stack", err)
		}
	}
}

func TestBadAnswersAreErrorsOfTheirStage(t *testing.T) {
	for want, cfg := range map[string]Config{
		`memory: items[0]: item "m": score 2: invalid value (want 0 to 1)`: {Memory: memories{{ID: "m", Source: SourceMemory, Score: 2}}},
		`count: tokenizer "odd": 2 counts for 1 texts: invalid value`:      {Memory: memories{{Content: "x"}}, Tokenizer: oddTokenizer{1, 1}},
		`count: tokenizer "odd": text 0: count -1: invalid value`:          {Memory: memories{{Content: "x"}}, Tokenizer: oddTokenizer{-1}},
		`count: items[0]: item "a": priority 0: invalid value (want 1 to 10)`: {Steps: []StepConfig{
			{Name: "give", Step: RetrieverStep(fixedRetriever(docs("a")), 0)},
			{Name: "spoil", Step: StepFunc(func(_ context.Context, _ *Query, items []Item) ([]Item, error) {
				items[0].Priority = 0
				return items, nil
			})},
		}},
		`step "f": filter: 0 answers for 1 items: invalid value`: {Memory: memories{{}}, Steps: []StepConfig{{Name: "f", Step: FilterStep(silentFilter{})}}},
	} {
		_, err := mustNew(t, cfg).Build(t.Context(), Query{})
		if err == nil || err.Error() != want || !errors.Is(err, ErrInvalid) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

type oddTokenizer []int

func (oddTokenizer) Name() string                                          { return "odd" }
func (o oddTokenizer) Count(context.Context, ...string) ([]int, error)     { return o, nil }
func (oddTokenizer) Truncate(context.Context, string, int) (string, error) { return "", nil }

type silentFilter struct{}

func (silentFilter) Filter(context.Context, *Query, []Item) ([]bool, error) { return nil, nil }

func TestInvalidQuery(t *testing.T) {
	_, err := mustNew(t, Config{}).Build(t.Context(), Query{ChatHistory: []Turn{{Role: "narrator"}}})
	want := `query: query: chat_history[0]: turn: role "narrator": invalid value (want user, assistant, system or tool)`
	if err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}

func TestCancellationEndsTheBuildWhateverThePolicy(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	reached := false
	p := mustNew(t, Config{Steps: []StepConfig{
		{Name: "stop", OnError: Skip, Step: StepFunc(func(ctx context.Context, _ *Query, _ []Item) ([]Item, error) {
			cancel()
			return nil, errBoom
		})},
		{Name: "next", OnError: Skip, Step: StepFunc(func(_ context.Context, _ *Query, items []Item) ([]Item, error) {
			reached = true
			return items, nil
		})},
	}})
	_, err := p.Build(ctx, Query{})
	var be *BuildError
	if !errors.As(err, &be) || !errors.Is(err, context.Canceled) || !errors.Is(err, errBoom) || be.Step != "stop" {
		t.Errorf("error %v", err)
	}
	if reached || len(be.Diagnostics.SkippedSteps) > 0 || be.Diagnostics.StepFailures[0].Reason != "cancelled" {
		t.Errorf("reached %v, diagnostics %+v", reached, be.Diagnostics)
	}
	if _, err := p.Build(ctx, Query{}); err == nil || err.Error() != "query: context canceled" {
		t.Errorf("build with an ended context: %v", err)
	}
}

func TestCancelledStepThatSucceedsEndsTheBuild(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	p := mustNew(t, Config{Steps: []StepConfig{
		{Name: "a", Step: StepFunc(func(_ context.Context, _ *Query, items []Item) ([]Item, error) { cancel(); return items, nil })},
		{Name: "b", Step: broken{}},
	}})
	if _, err := p.Build(ctx, Query{}); err == nil || err.Error() != "step: context canceled" {
		t.Errorf("error %v", err)
	}
}

func TestTimeout(t *testing.T) {
	release := make(chan struct{})
	t.Cleanup(func() { close(release) })
	stuck := StepFunc(func(context.Context, *Query, []Item) ([]Item, error) { <-release; return nil, nil })
	patient := StepFunc(func(ctx context.Context, _ *Query, _ []Item) ([]Item, error) { <-ctx.Done(); return nil, ctx.Err() })
	for name, s := range map[string]Step{"stuck": stuck, "patient": patient, "isolated": isolatedStep{patient}} {
		_, err := mustNew(t, Config{Steps: []StepConfig{{Name: "s", Timeout: 2 * time.Millisecond, Step: s}}}).Build(t.Context(), Query{})
		var be *BuildError
		if !errors.As(err, &be) || !errors.Is(err, context.DeadlineExceeded) || be.Diagnostics.StepFailures[0].Reason != "timeout" {
			t.Errorf("%s: %v", name, err)
		}
	}
}

type isolatedStep struct{ Step }

func (isolatedStep) Isolated() {}

func TestIsolatedStepsGetNoCopies(t *testing.T) {
	given := docs("a", "b")
	for name, wrap := range map[string]func(Step) Step{
		"bare":   func(s Step) Step { return isolatedStep{s} },
		"scoped": func(s Step) Step { return Scope(isolatedStep{s}, SourceRetrieval) },
	} {
		st, err := newStep(StepConfig{Name: "s", Step: wrap(StepFunc(nil)), OnError: Skip})
		if err != nil || st.access != isolatedAccess {
			t.Errorf("%s: isolated %v, error %v", name, st.access == isolatedAccess, err)
		}
	}
	var seen *Item
	step := isolatedStep{StepFunc(func(_ context.Context, _ *Query, items []Item) ([]Item, error) {
		seen = &items[0]
		return items, nil
	})}
	mustBuild(t, Config{Steps: []StepConfig{
		{Name: "give", Step: StepFunc(func(context.Context, *Query, []Item) ([]Item, error) { return given, nil })},
		{Name: "s", OnError: Skip, Timeout: time.Minute, Step: step},
	}})
	if seen != &given[0] {
		t.Error("an isolated step was given a copy")
	}
}

func TestStepsRunByPriority(t *testing.T) {
	var ran []string
	step := func(name string, priority int) StepConfig {
		return StepConfig{Name: name, Priority: priority, Step: StepFunc(func(_ context.Context, _ *Query, items []Item) ([]Item, error) {
			ran = append(ran, name)
			return items, nil
		})}
	}
	mustBuild(t, Config{Steps: []StepConfig{step("default", 0), step("late", 60), step("early", -1), step("fifty", 50), step("first", 1)}})
	if want := []string{"early", "first", "default", "fifty", "late"}; !slices.Equal(ran, want) {
		t.Errorf("ran %v, want %v", ran, want)
	}
}

func TestStepCannotWriteBehindAListItWasGiven(t *testing.T) {
	shared := docs("a", "b", "c")
	mustBuild(t, Config{Steps: []StepConfig{
		{Name: "give", Step: StepFunc(func(context.Context, *Query, []Item) ([]Item, error) { return shared[:1], nil })},
		{Name: "append", Step: appendStep(doc("x"))},
		{Name: "retrieve", Step: RetrieverStep(fixedRetriever(docs("y")), 0)},
	}})
	if got := ids(shared); !slices.Equal(got, []string{"a", "b", "c"}) {
		t.Errorf("list of the first step is now %v", got)
	}
}

func TestBuildInfo(t *testing.T) {
	var info BuildInfo
	var ok bool
	mustBuild(t, Config{MaxTokens: 100, Budget: &fill.Budget{TotalTokens: 100, ReserveTokens: 30}, Steps: []StepConfig{
		{Name: "s", Step: StepFunc(func(ctx context.Context, _ *Query, items []Item) ([]Item, error) {
			info, ok = BuildInfoFrom(ctx)
			return items, nil
		})},
	}})
	if !ok || info.MaxTokens != 70 {
		t.Errorf("build info %+v, %v", info, ok)
	}
	if _, ok := BuildInfoFrom(t.Context()); ok {
		t.Error("build info outside a build")
	}
}

func TestNewRefuses(t *testing.T) {
	noop := StepFunc(func(_ context.Context, _ *Query, items []Item) ([]Item, error) { return items, nil })
	for want, cfg := range map[string]Config{
		`anthropic: breakpoints "top": invalid value (want auto)`:                                                            {Formatter: format.Anthropic{Breakpoints: "top"}},
		`enricher: template at "{who}": invalid value (want {query}, {context}, {{ or }})`:                                   {Enricher: TemplateEnricher{Template: "{who}"}},
		"enricher: max_items -1: invalid value (want 1 or more)":                                                             {Enricher: TemplateEnricher{MaxItems: -1}},
		"pipeline: max_tokens -1: invalid value (want 1 or more)":                                                            {MaxTokens: -1},
		"budget: total_tokens 0: invalid value (want 1 or more)":                                                             {Budget: &fill.Budget{}},
		"budget: reserve_tokens 9 leave nothing of max_tokens 9: budget exceeded (lower the reserve)":                        {MaxTokens: 9, Budget: &fill.Budget{TotalTokens: 9, ReserveTokens: 9}},
		`pipeline: system_prompts[0]: item "system-1": priority 11: invalid value (want 1 to 10)`:                            {SystemPrompts: []SystemPrompt{{Priority: 11}}},
		"pipeline: steps[0]: name is empty: invalid value":                                                                   {Steps: []StepConfig{{Step: noop}}},
		`pipeline: steps[0]: step "s": no step: invalid value`:                                                               {Steps: []StepConfig{{Name: "s"}}},
		`pipeline: steps[0]: step "s": timeout -1ns: invalid value (want 0 or more)`:                                         {Steps: []StepConfig{{Name: "s", Step: noop, Timeout: -1}}},
		`pipeline: steps[0]: step "s": on_error "retry": invalid value (want raise or skip)`:                                 {Steps: []StepConfig{{Name: "s", Step: noop, OnError: "retry"}}},
		`budget: allocations[1]: second allocation of source "tool": invalid value (merge the two)`:                          {Budget: &fill.Budget{TotalTokens: 9, Allocations: []fill.Allocation{{Source: SourceTool, MaxTokens: 1}, {Source: SourceTool, MaxTokens: 1}}}},
		`budget: allocations[0]: source "web": invalid value (want one of [retrieval memory system user tool conversation])`: {Budget: &fill.Budget{TotalTokens: 9, Allocations: []fill.Allocation{{Source: "web", MaxTokens: 1}}}},
		`budget: allocations[0]: max_tokens 0: invalid value (want 1 or more)`:                                               {Budget: &fill.Budget{TotalTokens: 9, Allocations: []fill.Allocation{{Source: SourceTool}}}},
		`budget: allocations[0]: priority 11: invalid value (want 1 to 10)`:                                                  {Budget: &fill.Budget{TotalTokens: 9, Allocations: []fill.Allocation{{Source: SourceTool, MaxTokens: 1, Priority: 11}}}},
		`budget: allocations[0]: overflow_strategy "cut": invalid value (want truncate or drop)`:                             {Budget: &fill.Budget{TotalTokens: 9, Allocations: []fill.Allocation{{Source: SourceTool, MaxTokens: 1, Overflow: "cut"}}}},
		`budget: allocations and reserve exceed total budget of 9 tokens: budget exceeded`:                                   {Budget: &fill.Budget{TotalTokens: 9, Allocations: []fill.Allocation{{Source: SourceTool, MaxTokens: 1 << 62}, {Source: SourceUser, MaxTokens: 1 << 62}, {Source: SourceMemory, MaxTokens: 1 << 62}}}},
	} {
		p, err := New(cfg)
		if p != nil || err == nil || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

func TestNewCopiesItsConfiguration(t *testing.T) {
	budget := &fill.Budget{TotalTokens: 10, Allocations: []fill.Allocation{{Source: SourceRetrieval, MaxTokens: 1}}}
	steps := []StepConfig{{Name: "give", Step: RetrieverStep(fixedRetriever(docs("a", "b")), 0)}}
	p := mustNew(t, Config{MaxTokens: 10, Budget: budget, Steps: steps})
	budget.Allocations[0].MaxTokens, steps[0].Step = 10, broken{}
	r, err := p.Build(t.Context(), Query{})
	if err != nil || len(r.Window.Items) != 1 {
		t.Errorf("window %+v, error %v", r, err)
	}
}

func TestSystemItemsAreCopiedForEachBuild(t *testing.T) {
	p := mustNew(t, Config{SystemPrompts: []SystemPrompt{{Content: "S"}}, Steps: []StepConfig{
		{Name: "s", Step: StepFunc(func(_ context.Context, _ *Query, items []Item) ([]Item, error) {
			items[0].Content += "!"
			items[0].Metadata = map[string]any{"k": 1}
			return items, nil
		})},
	}})
	for range 3 {
		r, err := p.Build(t.Context(), Query{})
		if err != nil || r.Window.Items[0].Content != "S!" {
			t.Errorf("window %+v, error %v", r, err)
		}
	}
}

func TestItemsWithoutTimeGetThatOfTheBuild(t *testing.T) {
	now := seedEpoch.Add(time.Hour)
	r := mustBuild(t, Config{Now: func() time.Time { return now }, MaxTokens: 1, Steps: []StepConfig{
		{Name: "give", Step: RetrieverStep(fixedRetriever{{ID: "a", Content: "one", TokenCount: 1}, {ID: "b", Content: "two", TokenCount: 1}}, 0)},
	}})
	if got := r.Window.Items[0]; !got.CreatedAt.Equal(now) || got.Source != SourceRetrieval || got.Priority != 5 {
		t.Errorf("item %+v", got)
	}
	if got := r.Overflow[0]; !got.CreatedAt.Equal(now) || got.Reason != OverflowWindow || got.Available != 0 {
		t.Errorf("overflow %+v", got)
	}
}

func TestCallbacksSeeCopiesAndBreakNothing(t *testing.T) {
	var log bytes.Buffer
	spoil := Callback{
		OnPipelineStart: func(_ context.Context, q *Query) error { q.Text, q.Metadata["k"] = "changed", 1; return errBoom },
		OnStepStart:     func(_ context.Context, _ string, items ItemsView) error { items.At(0).Metadata["k"] = 1; panic("boom") },
		OnStepEnd: func(_ context.Context, _ string, view ItemsView, _ time.Duration) error {
			items := view.Copy()
			for i := range items {
				items[i].Content, items[i].Metadata["k"] = "changed", 1
			}
			return nil
		},
		OnPipelineEnd: func(_ context.Context, view ResultView) error {
			r := view.Copy()
			view.Items().At(0).Metadata["k"] = 1
			r.Window.Items[0].Metadata["k"], r.Diagnostics.Steps[0].Name, *r.Diagnostics.MemoryItems = 1, "changed", 7
			return nil
		},
	}
	it := doc("m")
	it.Source, it.Metadata = SourceMemory, map[string]any{"k": "v"}
	p := mustNew(t, Config{Callbacks: []Callback{spoil}, Logger: textLogger(&log), Memory: memories{it},
		Steps: []StepConfig{{Name: "s", Step: appendStep()}}})
	q := Query{Text: "q", Metadata: map[string]any{"k": "v"}}
	r, err := p.Build(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	got := r.Window.Items[0]
	if got.Content != "m" || got.Metadata["k"] != "v" || q.Metadata["k"] != "v" || r.Diagnostics.Steps[0].Name != "s" || *r.Diagnostics.MemoryItems != 1 {
		t.Errorf("a callback changed the build: %+v, %+v", got, q)
	}
	want := `level=WARN msg="callback failed" event=on_pipeline_start step="" error=boom
level=WARN msg="callback failed" event=on_step_start step=s error="panic: boom" stack="goroutine `
	if !strings.HasPrefix(log.String(), want) || strings.Count(log.String(), "\n") != 2 {
		t.Errorf("log\n%s\nwant two lines that begin\n%s", log.String(), want)
	}
}

// A callback that counts items is sent no copies of them: its builds allocate as much for
// many items with metadata as for one.
func TestCallbacksCopyNothingUnasked(t *testing.T) {
	many := make([]Item, 1000)
	for i := range many {
		many[i] = doc("m")
		many[i].Metadata = map[string]any{"page": i}
	}
	seen := 0
	p := mustNew(t, Config{Callbacks: []Callback{{
		OnStepStart: func(_ context.Context, _ string, items ItemsView) error { seen += items.Len(); return nil },
		OnStepEnd: func(_ context.Context, _ string, items ItemsView, _ time.Duration) error {
			seen += items.Len()
			return nil
		},
		OnPipelineEnd: func(_ context.Context, r ResultView) error { seen += r.Items().Len(); return nil },
	}}})
	r := &Result{Window: &Window{Items: many}}
	allocs := testing.AllocsPerRun(10, func() {
		p.onStepStart(t.Context(), "s", many)
		p.onStepEnd(t.Context(), "s", many, 0)
		p.onPipelineEnd(t.Context(), r)
	})
	if seen != 11*3*len(many) {
		t.Errorf("%d items counted, want %d", seen, 11*3*len(many))
	}
	if allocs > 20 {
		t.Errorf("%.0f allocations for three events about %d items", allocs, len(many))
	}
}

func TestSkipIsLogged(t *testing.T) {
	var log bytes.Buffer
	mustBuild(t, Config{Logger: textLogger(&log), Steps: []StepConfig{
		{Name: "s", OnError: Skip, Step: StepFunc(func(context.Context, *Query, []Item) ([]Item, error) { return nil, pluginFailure{} })},
	}})
	if want := "level=WARN msg=\"step skipped\" step=s plugin=bm25 reason=fuel error=\"out of fuel\"\n"; log.String() != want {
		t.Errorf("log %q, want %q", log.String(), want)
	}
}

// A window never lacks its system items, whoever gave them: the build fails, and says how many tokens
// they take.
func TestSystemItemsAreKept(t *testing.T) {
	two := []SystemPrompt{{Content: "one two"}, {Content: "three"}}
	given := StepFunc(func(context.Context, *Query, []Item) ([]Item, error) {
		return []Item{{ID: "rules", Source: SourceSystem, Content: "one two three", Priority: 1}, {ID: "a", Source: SourceUser, Content: "four five", Priority: 10}}, nil
	})
	dropped := &fill.Budget{TotalTokens: 9, Allocations: []fill.Allocation{{Source: SourceSystem, MaxTokens: 1, Overflow: fill.OverflowDrop}}}
	for name, tc := range map[string]struct {
		cfg  Config
		want string
	}{
		"oversized": {Config{MaxTokens: 2, SystemPrompts: []SystemPrompt{{Content: "one two three"}}}, `system items take 3 tokens, and there is room for 2: "system-1" is not in the window (window_full)`},
		"displaced": {Config{MaxTokens: 2, SystemPrompts: two}, `system items take 3 tokens, and there is room for 2: "system-2"`},
		"dropped":   {Config{MaxTokens: 9, SystemPrompts: two[:1], Budget: dropped}, `system items take 2 tokens, and there is room for 1: "system-1" is not in the window (source_dropped)`},
		"given":     {Config{MaxTokens: 2, Steps: []StepConfig{{Name: "s", Step: given}}}, `system items take 3 tokens, and there is room for 2: "rules"`},
	} {
		_, err := mustNew(t, tc.cfg).Build(t.Context(), Query{Text: "q"})
		if !errors.Is(err, ErrBudget) || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v, want %s", name, err, tc.want)
		}
	}
	for _, name := range fill.StrategyNames() {
		strategy, err := fill.StrategyByName(name)
		if err != nil {
			t.Fatal(err)
		}
		r := mustBuild(t, Config{MaxTokens: 4, Fill: strategy, Steps: []StepConfig{{Name: "s", Step: given}}})
		if len(r.Window.Items) != 1 || r.Window.Items[0].ID != "rules" {
			t.Errorf("%s: a system item of the lowest priority: %+v", name, r.Window.Items)
		}
	}
}

func TestWarnings(t *testing.T) {
	for name, tc := range map[string]struct {
		cfg  Config
		want []string
	}{
		"settings without effect": {
			Config{MaxTokens: 20, Budget: &fill.Budget{TotalTokens: 10, Allocations: []fill.Allocation{{Source: SourceTool, MaxTokens: 1, Priority: 3}}}},
			[]string{
				"budget: total_tokens is 10 and max_tokens is 20: the window follows max_tokens (set both to the same number)",
				"budget: allocation of tool: nothing reads priority 3 (the priority of the items decides)",
			},
		},
		"nothing to warn of": {Config{MaxTokens: 9, SystemPrompts: []SystemPrompt{{Content: "one"}}}, nil},
	} {
		if got := mustBuild(t, tc.cfg).Diagnostics.Warnings; !slices.Equal(got, tc.want) {
			t.Errorf("%s: warnings %q, want %q", name, got, tc.want)
		}
	}
	budget, err := fill.PresetBudget("rag", 100)
	if err != nil {
		t.Fatal(err)
	}
	if got := mustBuild(t, Config{MaxTokens: 100, Budget: budget}).Diagnostics.Warnings; got != nil {
		t.Errorf("preset warns of itself: %q", got)
	}
}

func TestResultDocument(t *testing.T) {
	cfg := Config{
		MaxTokens: 3, Now: func() time.Time { return seedEpoch }, Budget: &fill.Budget{TotalTokens: 3},
		Steps: []StepConfig{{Name: "give", Step: RetrieverStep(fixedRetriever{doc("a"), {ID: "b", Content: "b", TokenCount: 5, CreatedAt: seedEpoch}}, 0)}},
	}
	data, err := json.Marshal(mustBuild(t, cfg))
	if err != nil {
		t.Fatal(err)
	}
	want := `{"window":{"items":[{"id":"a","content":"a","source":"retrieval","score":0.5,"priority":5,"token_count":1,"metadata":{},"created_at":"2026-01-01T00:00:00Z"}],"max_tokens":3,"used_tokens":1},` +
		`"formatted_output":"=== CONTEXT ===\na","format_type":"generic",` +
		`"overflow_items":[{"id":"b","content":"b","source":"retrieval","score":0,"priority":5,"token_count":5,"metadata":{},"created_at":"2026-01-01T00:00:00Z","reason":"window_full","available_tokens":2}],` +
		`"diagnostics":{"steps":[{"name":"give","items_after":2,"time_ms":0}],"total_items_considered":2,"items_included":1,"items_overflow":1,"token_utilization":0.3333,"token_usage_by_source":{"retrieval":1},"shared_pool_usage":1,` +
		`"times_ms":{"memory":0,"enrich":0,"steps":0,"count":0,"fill":0,"format":0}},"build_time_ms":0}`
	if string(data) != want {
		t.Errorf("result\n%s\nwant\n%s", data, want)
	}
	empty, err := json.Marshal(mustBuild(t, Config{Now: func() time.Time { return seedEpoch }}))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.HasPrefix(empty, []byte(`{"window":{"items":[],"max_tokens":8192,"used_tokens":0},"formatted_output":"","format_type":"generic","overflow_items":[],"diagnostics":{"steps":[],`)) {
		t.Errorf("empty result %s", empty)
	}
}
