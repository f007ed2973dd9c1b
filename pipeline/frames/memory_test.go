package frames

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/pipeline/agent"
	"github.com/anchor-host/anchor-host/pipeline/format"
	"github.com/anchor-host/anchor-host/pipeline/message"
)

func newMemory(t *testing.T, p *Pipeline, cfg MemoryConfig) *FrameMemory {
	t.Helper()
	m, err := NewFrameMemory(p, cfg)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// filled is a pipeline of four frames, the first of which is protected.
func filled(t *testing.T) *Pipeline {
	p := newPipeline(t, Config{Now: ticking()})
	push(t, p, IntentAnalysis, "split auth")
	push(t, p, StepSummary, "read the module")
	if _, err := p.Push(t.Context(), Frame{Kind: Other("audit"), Summary: "looked through", Data: json.RawMessage(`{"files":2}`)}); err != nil {
		t.Fatal(err)
	}
	push(t, p, ToolCall, "ran the tests")
	return p
}

func TestItems(t *testing.T) {
	p := filled(t)
	p.SetGlobalSummary("half done")
	items, err := newMemory(t, p, MemoryConfig{WithData: true}).Items(t.Context(), &pipeline.Query{})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, it := range items {
		if err := it.Validate(); err != nil {
			t.Error(err)
		}
		got = append(got, fmt.Sprintf("%s %q %v %v %d %d", it.ID, it.Content, it.Source, it.Score, it.Priority, it.Sequence))
	}
	want := []string{
		`frames-summary "half done" memory 1 9 0`,
		`frame-0 "[intent_analysis] split auth" memory 1 9 1`,
		`frame-1 "[step_summary] read the module" memory 0.6667 8 2`,
		`frame-2 "[audit] looked through\n{\"files\":2}" memory 0.8333 8 3`,
		`frame-3 "[tool_call] ran the tests" memory 1 8 4`,
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	wantMeta := map[string]any{"pipeline": p.ID().String(), "frame_id": int64(2), "kind": "other:audit", "protected": false}
	if toJSON(t, items[3].Metadata) != toJSON(t, wantMeta) {
		t.Errorf("metadata %v, want %v", items[3].Metadata, wantMeta)
	}
	if !items[0].CreatedAt.Equal(p.Header().CreatedAt) || items[2].TokenCount != 0 {
		t.Errorf("summary of %v, %d tokens", items[0].CreatedAt, items[2].TokenCount)
	}
}

func TestItemsAreLimited(t *testing.T) {
	p := filled(t)
	for range 100 {
		push(t, p, StepSummary, "s")
	}
	items, err := newMemory(t, p, MemoryConfig{}).Items(t.Context(), nil)
	if err != nil || len(items) != DefaultMemoryFrames {
		t.Errorf("%d items, %v", len(items), err)
	}
	items, err = newMemory(t, p, MemoryConfig{Limits: Limits{MaxFrames: 2}, Priority: 3}).Items(t.Context(), nil)
	if err != nil || len(items) != 2 || items[0].ID != "frame-0" || items[1].ID != "frame-103" || items[0].Priority != 4 {
		t.Errorf("items %v, %v", items, err)
	}
}

func TestFramesInABuild(t *testing.T) {
	p := filled(t)
	p.SetGlobalSummary("half done")
	build, err := pipeline.New(pipeline.Config{
		MaxTokens: 9, Tokenizer: pipeline.WordTokenizer(), Memory: newMemory(t, p, MemoryConfig{}), Formatter: format.Generic{},
	})
	if err != nil {
		t.Fatal(err)
	}
	result, err := build.Build(t.Context(), pipeline.Query{Text: "what next?"})
	if err != nil {
		t.Fatal(err)
	}
	// Four words are left of nine after the summary and the protected frame: room for
	// the newest frame.
	const want = "=== MEMORY ===\nhalf done\n[intent_analysis] split auth\n[tool_call] ran the tests"
	if result.Output != want || len(result.Overflow) != 2 {
		t.Errorf("output %q, overflow %d", result.Output, len(result.Overflow))
	}
}

func TestObservations(t *testing.T) {
	p := filled(t)
	m := newMemory(t, p, MemoryConfig{Limits: Limits{MaxFrames: 2}})
	chain, err := agent.NewChain(agent.Config{Providers: []agent.Provider{m}})
	if err != nil {
		t.Fatal(err)
	}
	state := &agent.State{Observations: []string{"the user is in a hurry"}}
	messages := []pipeline.Message{message.New(pipeline.RoleUser, "go on")}
	run := func() []string {
		t.Helper()
		out, err := chain.Run(t.Context(), state, messages, agent.Budget{Phase: agent.PhaseLLM})
		if err != nil || len(out) != 1 || out[0].Text() != "go on" {
			t.Fatalf("messages %v, %v", out, err)
		}
		return state.Observations
	}
	want := []string{"the user is in a hurry", "[frame 0 intent_analysis] split auth", "[frame 3 tool_call] ran the tests"}
	for range 2 { // a second run adds nothing
		if got := run(); !slices.Equal(got, want) {
			t.Fatalf("observations %q, want %q", got, want)
		}
	}
	push(t, p, ErrorRecovery, "tests fail without a network")
	p.SetGlobalSummary("half done")
	want = []string{want[0], "[frames summary] half done", want[1], "[frame 4 error_recovery] tests fail without a network"}
	if got := run(); !slices.Equal(got, want) {
		t.Errorf("observations %q, want %q", got, want)
	}
}

func TestEstimateTokens(t *testing.T) {
	p := newPipeline(t, Config{})
	push(t, p, ToolCall, "ran the tests") // [frame 0 tool_call] ran the tests: 33 characters, 6 words
	for _, c := range []struct {
		cfg  MemoryConfig
		want int
	}{{MemoryConfig{}, 9}, {MemoryConfig{Tokenizer: pipeline.WordTokenizer()}, 6}} {
		if n, err := newMemory(t, p, c.cfg).EstimateTokens(t.Context(), &agent.State{}); err != nil || n != c.want {
			t.Errorf("%d tokens, %v; want %d", n, err, c.want)
		}
	}
}

func TestFrameMemoryConfig(t *testing.T) {
	p := newPipeline(t, Config{})
	for _, priority := range []int{-1, 10} {
		if _, err := NewFrameMemory(p, MemoryConfig{Priority: priority}); !errors.Is(err, pipeline.ErrInvalid) {
			t.Errorf("priority %d: %v", priority, err)
		}
	}
	if _, err := NewFrameMemory(nil, MemoryConfig{}); !errors.Is(err, pipeline.ErrInvalid) {
		t.Errorf("no pipeline: %v", err)
	}
	m := newMemory(t, p, MemoryConfig{})
	if m.Name() != "frames" || m.Priority() != 5 {
		t.Errorf("provider %q at %d", m.Name(), m.Priority())
	}
	m = newMemory(t, p, MemoryConfig{Name: "work", ProviderPriority: 15})
	if m.Name() != "work" || m.Priority() != 15 {
		t.Errorf("provider %q at %d", m.Name(), m.Priority())
	}
}

func TestObservationsOfOthersStay(t *testing.T) {
	p := filled(t)
	if _, err := p.Push(t.Context(), Frame{Kind: Other("a]\nb"), Summary: "odd"}); err != nil {
		t.Fatal(err)
	}
	m := newMemory(t, p, MemoryConfig{Limits: Limits{MaxFrames: 2}})
	users := []string{"[frame of the door] is loose", "[frame 7] is my favourite", "[frame 01 x] a", "[frame 3 tool_call]b"}
	s := agent.State{Observations: users}
	for range 2 {
		if _, err := m.Apply(t.Context(), &s, nil, agent.Budget{}); err != nil {
			t.Fatal(err)
		}
	}
	want := append(slices.Clone(users), "[frame 0 intent_analysis] split auth", "[frame 4 a) b] odd")
	if !slices.Equal(s.Observations, want) {
		t.Errorf("observations %q, want %q", s.Observations, want)
	}
}

func TestObservationsKeepToTheirShare(t *testing.T) {
	p := filled(t)
	for i := range 60 {
		push(t, p, StepSummary, fmt.Sprintf("step %d did a good deal of work", i))
	}
	push(t, p, Checkpoint, "all green")
	p.SetGlobalSummary("half done")
	counted := func(cfg MemoryConfig, budget int) (texts []string, tokens int) {
		t.Helper()
		cfg.Tokenizer = pipeline.WordTokenizer()
		s := agent.State{}
		if _, err := newMemory(t, p, cfg).Apply(t.Context(), &s, nil, agent.Budget{MaxTokens: budget}); err != nil {
			t.Fatal(err)
		}
		for _, text := range s.Observations {
			tokens += len(strings.Fields(text)) + listMark
		}
		return s.Observations, tokens
	}
	for _, budget := range []int{0, 4, 20, 40, 100, 160, 400, 1000, 10000} {
		texts, tokens := counted(MemoryConfig{}, budget)
		if budget > 0 && tokens > budget/observationShare {
			t.Errorf("budget %d: %d tokens", budget, tokens)
		}
		if budget >= 1000 || budget == 0 {
			if last := texts[len(texts)-2]; !strings.Contains(last, "step 59 ") {
				t.Errorf("budget %d: %q is not the newest", budget, last)
			}
		}
	}
	want := []string{"[frames summary] half done", "[frame 64 checkpoint] all green"}
	if texts, _ := counted(MemoryConfig{}, 14*4); !slices.Equal(texts, want) {
		t.Errorf("observations %q, want %q", texts, want)
	}
	if texts, tokens := counted(MemoryConfig{Limits: Limits{MaxTokens: 100}}, 40); tokens > 100 || tokens < 80 {
		t.Errorf("%d tokens of 100: %q", tokens, texts)
	}
}

func TestParseKindRefusesAnEmptyText(t *testing.T) {
	for _, s := range []string{"other:", "other: "} {
		if _, err := ParseKind(s); !errors.Is(err, pipeline.ErrInvalid) {
			t.Errorf("%q: %v", s, err)
		}
	}
}
