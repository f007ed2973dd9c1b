package pipeline

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/anchor-host/anchor-host/internal/testkit/seedcase"
	"github.com/anchor-host/anchor-host/pipeline/fill"
	"github.com/anchor-host/anchor-host/pipeline/format"
	"github.com/anchor-host/anchor-host/pipeline/internal/values"
)

func appendStep(items ...Item) Step {
	return StepFunc(func(_ context.Context, _ *Query, in []Item) ([]Item, error) {
		return append(in, items...), nil
	})
}

func runWindowCase(t *testing.T, c seedcase.Case) any {
	var in struct {
		MaxTokens     int            `json:"max_tokens"`
		Budget        *fill.Budget   `json:"budget"`
		SystemPrompts []SystemPrompt `json:"system_prompts"`
		Items         []seedItem     `json:"items_appended_by_one_step"`
		Query         string         `json:"query"`
	}
	seedcase.Decode(t, c, &in)
	p, err := New(Config{
		MaxTokens: in.MaxTokens, Tokenizer: WordTokenizer(), Budget: in.Budget, SystemPrompts: in.SystemPrompts,
		Steps: []StepConfig{{Name: "inject", Step: appendStep(plainItems(in.Items)...)}},
	})
	if err != nil {
		return map[string]any{"error": err.Error()}
	}
	r, err := p.Build(t.Context(), Query{Text: in.Query})
	if withoutSystem(err) {
		return map[string]any{"error": err.Error()}
	}
	if err != nil {
		t.Fatal(err)
	}
	overflow := []string{}
	for _, o := range r.Overflow {
		overflow = append(overflow, seedID(o.Item))
	}
	window := []string{}
	for _, it := range r.Window.Items {
		window = append(window, seedID(it))
	}
	return map[string]any{
		"window_ids": window, "overflow_ids": overflow,
		"window_max_tokens": r.Window.MaxTokens, "used_tokens": r.Window.UsedTokens,
		"diagnostics": seedDiagnostics(t, r.Diagnostics),
	}
}

// seedID returns the id of an item in the cases, where system prompts have none.
func seedID(it Item) string {
	if it.Source == SourceSystem && strings.HasPrefix(it.ID, "system-") {
		return "system:" + it.Content
	}
	return it.ID
}

func runEndToEndCase(t *testing.T, c seedcase.Case) any {
	var in struct {
		MaxTokens     int            `json:"max_tokens"`
		Budget        *fill.Budget   `json:"budget"`
		SystemPrompts []SystemPrompt `json:"system_prompts"`
		Conversation  [][2]string    `json:"conversation"`
		Retrieved     []seedItem     `json:"retrieved"`
	}
	seedcase.Decode(t, c, &in)
	memory := talk(in.Conversation)
	formats := []Formatter{format.Anthropic{Caching: true}, format.OpenAI{}, format.Generic{}}
	got := map[string]any{}
	var types []string
	for i, key := range []string{"anthropic_caching", "openai", "generic"} {
		p, err := New(Config{
			MaxTokens: in.MaxTokens, Tokenizer: WordTokenizer(), Budget: in.Budget, SystemPrompts: in.SystemPrompts,
			Memory: memory, Formatter: formats[i],
			Steps: []StepConfig{{Name: "search", Step: appendStep(plainItems(in.Retrieved)...)}},
		})
		if err != nil {
			t.Fatal(err)
		}
		r, err := p.Build(t.Context(), Query{Text: "q"})
		if err != nil {
			t.Fatal(err)
		}
		got[key] = markedMessages(r.Output)
		types = append(types, r.FormatType)
		got["window_contents"] = contents(r.Window.Items)
		got["overflow_ids"] = []string{r.Overflow[0].ID}
		got["window_max_tokens"], got["used_tokens"] = r.Window.MaxTokens, r.Window.UsedTokens
		got["diagnostics"] = seedDiagnostics(t, r.Diagnostics)
	}
	got["format_types"] = types
	return got
}

func contents(items []Item) []string {
	out := []string{}
	for _, it := range items {
		out = append(out, it.Content)
	}
	return out
}

// errRuntime stands for the seed's RuntimeError.
var errRuntime = errors.New("runtime error")

// seedStep builds a step from its description in a case.
func seedStep(t *testing.T, text string) StepConfig {
	cfg := StepConfig{}
	if rest, ok := strings.CutSuffix(text, " (skip)"); ok {
		text, cfg.OnError = rest, Skip
	}
	quoted := regexp.MustCompile(`'(\w+)'`).FindStringSubmatch(text)
	name, what, _ := strings.Cut(text, " ")
	cfg.Name = name
	switch {
	case name == "append":
		cfg.Name = what
		cfg.Step = appendStep(Item{ID: what, Content: what, Source: SourceRetrieval, Priority: 5})
	case what == "raises RuntimeError":
		cfg.Step = StepFunc(func(context.Context, *Query, []Item) ([]Item, error) { return nil, errRuntime })
	case what == "returns a string":
		// The closest equivalent in Go: a list with an invalid item.
		cfg.Step = appendStep(Item{Content: "text"})
	case name == "async" && quoted != nil:
		cfg.Name = quoted[1]
		cfg.Step = appendStep()
	default:
		t.Fatalf("step %q is not understood", text)
	}
	return cfg
}

// seedErrorType translates a step's error to the type of the seed.
func seedErrorType(err error) (errorType string, cause any) {
	switch {
	case errors.Is(err, ErrInvalid):
		return "TypeError", nil
	case errors.Is(err, errRuntime):
		return "AstroContextError", "RuntimeError"
	}
	return "AstroContextError", nil
}

// seedEvents records events in the seed's form.
func seedEvents(events *[][]any) Callback {
	add := func(event ...any) error { *events = append(*events, event); return nil }
	return Callback{
		OnPipelineStart: func(_ context.Context, q *Query) error { return add("on_pipeline_start", q.Text) },
		OnStepStart: func(_ context.Context, step string, items ItemsView) error {
			return add("on_step_start", step, items.Len())
		},
		OnStepEnd: func(_ context.Context, step string, items ItemsView, _ time.Duration) error {
			return add("on_step_end", step, items.Len())
		},
		OnStepError: func(_ context.Context, step string, err error) error {
			errorType, cause := seedErrorType(err)
			return add("on_step_error", step, errorType, cause)
		},
		OnPipelineEnd: func(_ context.Context, r ResultView) error { return add("on_pipeline_end", r.Items().Len()) },
	}
}

func runErrorsCase(t *testing.T, c seedcase.Case) any {
	var in struct {
		SystemPrompts []string `json:"system_prompts"`
		Steps         []string `json:"steps"`
		Query         string   `json:"query"`
		Rows          []struct {
			MaxTokens     int `json:"max_tokens"`
			ReserveTokens int `json:"reserve_tokens"`
		} `json:"rows"`
	}
	seedcase.Decode(t, c, &in)
	if in.Rows != nil {
		var rows []any
		for _, row := range in.Rows {
			rows = append(rows, runReserveRow(t, row.MaxTokens, row.ReserveTokens))
		}
		return map[string]any{"rows": rows}
	}
	events := [][]any{}
	cfg := Config{MaxTokens: 100, Tokenizer: WordTokenizer(), Callbacks: []Callback{seedEvents(&events)}, Logger: slog.New(slog.DiscardHandler)}
	for _, s := range in.SystemPrompts {
		cfg.SystemPrompts = append(cfg.SystemPrompts, SystemPrompt{Content: s})
	}
	for _, text := range in.Steps {
		for part := range strings.SplitSeq(text, "; ") {
			switch part {
			case "memory has one user turn 'earlier'":
				cfg.Memory = talk([][2]string{{"user", "earlier"}})
			case "default MemoryContextEnricher":
				cfg.Enricher = TemplateEnricher{}
			default:
				cfg.Steps = append(cfg.Steps, seedStep(t, part))
			}
		}
	}
	p, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	r, err := p.Build(t.Context(), Query{Text: in.Query})
	if err != nil {
		return seedFailure(t, err, events)
	}
	return map[string]any{
		"outcome": "ok", "diagnostics": seedDiagnostics(t, r.Diagnostics),
		"window_contents": contents(r.Window.Items), "callback_events": events,
	}
}

func seedFailure(t *testing.T, err error, events [][]any) any {
	var be *BuildError
	if !errors.As(err, &be) || be.Diagnostics == nil || be.Diagnostics.FailedStep != be.Step {
		t.Fatalf("%v is no *BuildError with diagnostics", err)
	}
	errorType, cause := seedErrorType(err)
	message := map[string]string{"TypeError": "Step '%s' must return a list of ContextItem", "AstroContextError": "Step '%s' failed during execution"}
	return map[string]any{
		"outcome": "error", "error_type": errorType, "error_bases": []string{errorType, "Exception"},
		"message": fmt.Sprintf(message[errorType], be.Step), "cause_type": cause, "callback_events": events,
	}
}

func runReserveRow(t *testing.T, maxTokens, reserve int) any {
	ran := false
	cfg := Config{
		MaxTokens: maxTokens, Tokenizer: WordTokenizer(), Budget: &fill.Budget{TotalTokens: 1000, ReserveTokens: reserve},
		Steps: []StepConfig{{Name: "s", Step: StepFunc(func(_ context.Context, _ *Query, items []Item) ([]Item, error) {
			ran = true
			return items, nil
		})}},
	}
	p, err := New(cfg)
	if errors.Is(err, ErrBudget) {
		return map[string]any{"outcome": "error", "error_type": "PipelineExecutionError", "steps_ran": ran}
	}
	if err != nil {
		t.Fatal(err)
	}
	r, err := p.Build(t.Context(), Query{})
	if err != nil {
		t.Fatal(err)
	}
	return map[string]any{"outcome": "ok", "window_max_tokens": r.Window.MaxTokens, "steps_ran": ran}
}

func runEnricherCase(t *testing.T, c seedcase.Case) any {
	var in struct {
		Rows []struct {
			Items    [][2]any `json:"items"`
			MaxItems int      `json:"max_items"`
			Template string   `json:"template"`
		} `json:"rows"`
		Conversation [][2]string `json:"conversation"`
		Query        string      `json:"query"`
		MaxItems     int         `json:"max_items"`
	}
	seedcase.Decode(t, c, &in)
	if in.Rows == nil {
		return enrichedBuild(t, in.Conversation, in.Query, in.MaxItems)
	}
	var rows []string
	for _, row := range in.Rows {
		var items []Item
		for _, pair := range row.Items {
			created := seedEpoch.Add(time.Duration(pair[1].(float64)) * time.Second)
			items = append(items, Item{Content: pair[0].(string), Source: SourceMemory, CreatedAt: created})
		}
		text, err := TemplateEnricher{MaxItems: row.MaxItems, Template: row.Template}.Enrich(t.Context(), "q", items)
		if err != nil {
			t.Fatal(err)
		}
		rows = append(rows, text)
	}
	return map[string]any{"rows": rows}
}

func enrichedBuild(t *testing.T, conversation [][2]string, query string, maxItems int) any {
	got := map[string]any{}
	for _, with := range []bool{true, false} {
		cfg := Config{Tokenizer: WordTokenizer(), Enricher: TemplateEnricher{MaxItems: maxItems}}
		var seen string
		cfg.Steps = []StepConfig{{Name: "look", Step: StepFunc(func(_ context.Context, q *Query, items []Item) ([]Item, error) {
			seen = q.Text
			return items, nil
		})}}
		if with {
			cfg.Memory = talk(conversation)
		}
		p, err := New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		r, err := p.Build(t.Context(), Query{Text: query})
		if err != nil {
			t.Fatal(err)
		}
		if with {
			got["query_seen_by_steps"], got["query_enriched"] = seen, r.Diagnostics.QueryEnriched
		} else {
			_, present := seedDiagnostics(t, r.Diagnostics)["query_enriched"]
			got["query_enriched_present_without_memory"] = present
		}
	}
	return got
}

func runBudgetValidationCase(t *testing.T, c seedcase.Case) any {
	var in struct {
		Rows []struct {
			Total       int      `json:"total_tokens"`
			Reserve     int      `json:"reserve"`
			Allocations [][2]any `json:"allocations"`
		} `json:"rows"`
	}
	seedcase.Decode(t, c, &in)
	var rows []any
	for _, row := range in.Rows {
		b := fill.Budget{TotalTokens: row.Total, ReserveTokens: row.Reserve}
		for _, a := range row.Allocations {
			b.Allocations = append(b.Allocations, fill.Allocation{Source: Source(a[0].(string)), MaxTokens: int(a[1].(float64))})
		}
		if b.Validate() != nil {
			rows = append(rows, map[string]any{"ok": false})
			continue
		}
		rows = append(rows, map[string]any{"ok": true, "shared_pool": b.SharedPool(), "get_allocation_memory": b.Allocation(SourceMemory)})
	}
	return map[string]any{"rows": rows}
}

func runItemValidationCase(t *testing.T, c seedcase.Case) any {
	var in struct {
		Overrides []map[string]any `json:"overrides"`
	}
	seedcase.Decode(t, c, &in)
	var rows []any
	for _, row := range in.Overrides {
		doc := map[string]any{"content": "x", "source": "user"}
		for k, v := range row {
			doc[k] = v
		}
		items, err := decodeItems(t, doc)
		if err != nil {
			rows = append(rows, map[string]any{"ok": false})
			continue
		}
		it := items[0]
		rows = append(rows, map[string]any{"ok": true, "score": it.Score, "priority": it.Priority, "token_count": it.TokenCount})
	}
	return map[string]any{"rows": rows}
}

// talk offers turns, counted in words, as a conversation does.
type talk [][2]string

// Items implements MemoryProvider.
func (c talk) Items(context.Context, *Query) (items []Item, err error) {
	for i, turn := range c {
		score := 0.5
		if len(c) > 1 {
			score += 0.5 * float64(i) / float64(len(c)-1)
		}
		it := Item{
			ID: fmt.Sprintf("turn-%d", i+1), Content: turn[1], Source: SourceConversation, Score: values.Round4(score),
			Priority: SourceConversation.DefaultPriority(), TokenCount: len(strings.Fields(turn[1])),
			Metadata: map[string]any{"role": turn[0]}, CreatedAt: seedEpoch, Sequence: int64(i + 1),
		}
		it.SetTurn(&Turn{Role: Role(turn[0]), Content: turn[1]})
		items = append(items, it)
	}
	return items, nil
}
