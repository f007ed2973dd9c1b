package pipeline

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/anchor-host/anchor-host/pipeline/fill"
	"github.com/anchor-host/anchor-host/pipeline/format"
)

// asked builds a window with the query and returns the output as text.
func asked(t *testing.T, cfg Config, query string, items ...Item) (string, *Result, error) {
	t.Helper()
	if cfg.Tokenizer == nil {
		cfg.Tokenizer = WordTokenizer()
	}
	cfg.IncludeQuery = true
	cfg.Steps = append(cfg.Steps, StepConfig{Name: "search", Step: RetrieverStep(fixedRetriever(items), 100)})
	p, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	result, err := p.Build(t.Context(), Query{Text: query})
	if err != nil {
		return "", nil, err
	}
	if text, ok := result.Output.(string); ok {
		return text, result, nil
	}
	doc, err := json.Marshal(result.Output)
	if err != nil {
		t.Fatal(err)
	}
	return string(doc), result, nil
}

func TestTheQueryEndsTheOutput(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	said := func(role Role, text string) Item {
		at = at.Add(time.Minute)
		return Item{ID: text, Content: text, Source: SourceConversation, Priority: 7, CreatedAt: at, Metadata: map[string]any{"role": string(role)}}
	}
	doc := Item{ID: "d", Content: "found", Source: SourceRetrieval, Priority: 5}
	for _, c := range []struct {
		name      string
		formatter Formatter
		query     string
		items     []Item
		want      string
	}{
		{"generic", format.Generic{}, "why?", []Item{doc}, "=== CONTEXT ===\nfound\n\n=== QUESTION ===\nwhy?"},
		{"alone", format.Generic{}, "why?", nil, "=== QUESTION ===\nwhy?"},
		{"blank", format.Generic{}, " \n", []Item{doc}, "=== CONTEXT ===\nfound"},
		{"openai", format.OpenAI{}, "why?", []Item{doc}, `{"messages":[{"role":"user","content":"Relevant context:\n\nfound\n\nwhy?"}]}`},
		{"anthropic", format.Anthropic{}, "why?", []Item{doc, said(RoleAssistant, "hello")},
			`{"messages":[{"role":"user","content":"Here is relevant context:\n\nfound"},{"role":"assistant","content":"hello"},{"role":"user","content":"why?"}]}`},
		{"asked already", format.OpenAI{}, "why?", []Item{said(RoleAssistant, "hello"), said(RoleUser, " why?\n")},
			`{"messages":[{"role":"assistant","content":"hello"},{"role":"user","content":" why?\n"}]}`},
		{"asked before", format.OpenAI{}, "why?", []Item{said(RoleUser, "why?"), said(RoleAssistant, "hello")},
			`{"messages":[{"role":"user","content":"why?"},{"role":"assistant","content":"hello"},{"role":"user","content":"why?"}]}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, fit := range fill.Fits {
				got, result, err := asked(t, Config{Formatter: c.formatter, Fit: fit}, c.query, c.items...)
				if err != nil {
					t.Fatal(err)
				}
				if got != c.want {
					t.Errorf("%s: got %s\nwant %s", fit, got, c.want)
				}
				if result.Window.UsedTokens != len(strings.Fields(strings.Join(contents(result.Window.Items), " "))) {
					t.Errorf("%s: the items have %d tokens", fit, result.Window.UsedTokens)
				}
			}
		})
	}
}

// The text that an enricher makes is for retrieval. The model gets the question of the user.
func TestTheQueryIsTheUsers(t *testing.T) {
	memory := Item{ID: "m", Content: "likes tea", Source: SourceMemory, Priority: 8}
	got, _, err := asked(t, Config{Memory: fixedMemory{memory}, Enricher: TemplateEnricher{}}, "what else?")
	if err != nil || !strings.HasSuffix(got, "=== QUESTION ===\nwhat else?") {
		t.Errorf("%s, %v", got, err)
	}
}

// A window has room for the query before any item, and a query without room is an error.
func TestTheQueryIsCounted(t *testing.T) {
	items := []Item{{ID: "a", Content: "one two three", Source: SourceRetrieval, Priority: 5}, {ID: "b", Content: "four", Source: SourceRetrieval, Priority: 4}}
	_, result, err := asked(t, Config{MaxTokens: 5}, "who is it", items...)
	if err != nil {
		t.Fatal(err)
	}
	w := result.Window
	if len(w.Items) != 1 || w.Items[0].ID != "b" || w.QueryTokens != 3 || w.Remaining() != 1 || result.Diagnostics.TokenUtilization != 0.8 {
		t.Errorf("window %+v, utilization %v", w, result.Diagnostics.TokenUtilization)
	}
	for _, fit := range fill.Fits {
		_, _, err = asked(t, Config{MaxTokens: 5, Fit: fit}, "one two three four five six", items...)
		if !errors.Is(err, fill.ErrBudget) || !strings.Contains(err.Error(), "shorten the query") {
			t.Errorf("%s: %v", fit, err)
		}
	}
}

// Tools are counted once, as text, in every fit.
func TestToolsAreCounted(t *testing.T) {
	tools := json.RawMessage(`[{"name": "search", "input_schema": {"type": "object"}}]`)
	want := len(strings.Fields(string(tools)))
	for _, fit := range fill.Fits {
		_, result, err := asked(t, Config{MaxTokens: 20, Fit: fit, Tools: tools}, "who")
		if err != nil {
			t.Fatal(err)
		}
		if result.Window.ToolTokens != want || fit == fill.FitExact && result.Counting.ToolTokens != want {
			t.Errorf("%s: %d tokens of tools, counted %+v, want %d", fit, result.Window.ToolTokens, result.Counting, want)
		}
	}
	for _, bad := range []string{"", "{}", "null", "[1]", `[{"a": 1, "a": 2}]`, "[{}] x"} {
		if _, err := New(Config{Tools: json.RawMessage(bad)}); !errors.Is(err, ErrInvalid) {
			t.Errorf("tools %s: %v", bad, err)
		}
	}
}
