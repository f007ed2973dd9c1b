package assemble_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/anchor-host/anchor-host/internal/assemble"
	"github.com/anchor-host/anchor-host/internal/config"
	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/pipeline/explain"
)

func Example() {
	c := &config.Config{Steps: []config.Step{{Name: "best", TopK: 2, Use: config.Use{Name: "rerank"}}}, Counting: config.Counting{Tokenizer: config.Choice{Name: "words"}}, Window: config.Window{MaxTokens: 5}}
	ctx := context.Background()
	g, err := assemble.Open(&config.Loaded{Config: *c}, assemble.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer g.Close(ctx)
	p, err := g.Pipeline(ctx, "")
	if err != nil {
		fmt.Println(err)
		return
	}
	result, err := p.Build(ctx, pipeline.Query{Text: "q"}, &assemble.Overrides{Config: c, Items: []pipeline.Item{
		{ID: "a", Content: "poor", Source: pipeline.SourceRetrieval, Score: 0.1, Priority: 5},
		{ID: "b", Content: "good", Source: pipeline.SourceRetrieval, Score: 0.9, Priority: 5},
		{ID: "c", Content: "fair", Source: pipeline.SourceRetrieval, Score: 0.5, Priority: 5},
	}})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, it := range result.Window.Items {
		fmt.Println(it.ID, it.Content)
	}
	// Output:
	// b good
	// c fair
}

// items are given in this order to every built-in step.
var items = []pipeline.Item{
	{ID: "s", Source: pipeline.SourceSystem, Score: 0.1, Priority: 10},
	{ID: "a", Source: pipeline.SourceRetrieval, Score: 0.2, Priority: 7, TokenCount: 3, CreatedAt: time.Unix(30, 0)},
	{ID: "m", Source: pipeline.SourceMemory, Score: 0.3, Priority: 8},
	{ID: "b", Source: pipeline.SourceTool, Score: 0.9, Priority: 5, TokenCount: 1, CreatedAt: time.Unix(10, 0)},
	{ID: "a", Source: pipeline.SourceUser, Score: 0.5, Priority: 6, TokenCount: 2, CreatedAt: time.Unix(20, 0)},
}

// What each built-in does to the items; those outside its scope keep their
// places.
func TestBuiltins(t *testing.T) {
	tests := []struct {
		name string
		step config.Step
		want []string
	}{
		{"filter by least score", config.Step{Use: config.Use{Name: "filter", Settings: map[string]any{"min_score": 0.5}}}, []string{"s", "b", "m", "a"}},
		{"filter by most score", config.Step{Use: config.Use{Name: "filter", Settings: map[string]any{"max_score": 0.5}}}, []string{"s", "a", "m", "a"}},
		{"filter by source", config.Step{Use: config.Use{Name: "filter", Settings: map[string]any{"sources": []any{"tool"}}}}, []string{"s", "b", "m"}},
		{"min_score", config.Step{Use: config.Use{Name: "min_score", Settings: map[string]any{"min_score": 0.9}}}, []string{"s", "b", "m"}},
		{"rerank", config.Step{TopK: 2, Use: config.Use{Name: "rerank"}}, []string{"s", "b", "m", "a"}},
		{"sort by score", config.Step{Use: config.Use{Name: "sort"}}, []string{"s", "b", "m", "a", "a"}},
		{"sort by priority", config.Step{Use: config.Use{Name: "sort", Settings: map[string]any{"by": "priority", "order": "asc"}}}, []string{"s", "b", "m", "a", "a"}},
		{"sort by age", config.Step{Use: config.Use{Name: "sort", Settings: map[string]any{"by": "created_at"}}}, []string{"s", "a", "m", "a", "b"}},
		{"sort by size", config.Step{Use: config.Use{Name: "sort", Settings: map[string]any{"by": "token_count", "order": "asc"}}}, []string{"s", "b", "m", "a", "a"}},
		{"top_k", config.Step{TopK: 1, Use: config.Use{Name: "top_k"}}, []string{"s", "a", "m"}},
		{"dedupe_ids", config.Step{Use: config.Use{Name: "dedupe_ids"}}, []string{"s", "a", "m", "b"}},
		{"scope", config.Step{TopK: 1, Scope: []string{"memory", "retrieval"}, Use: config.Use{Name: "top_k"}}, []string{"s", "a", "b", "a"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tt.step.Name = "step"
			if got := idsAfter(t, tt.step); !reflect.DeepEqual(got, tt.want) {
				t.Errorf("got %v, want %v", got, tt.want)
			}
		})
	}
}

// idsAfter returns the ids of the items after a step, in their order.
func idsAfter(t *testing.T, step config.Step) []string {
	t.Helper()
	before := len(items)
	last := config.Step{Name: "watch", TopK: 100, Priority: 1000, Use: config.Use{Name: "top_k"}}
	a, err := assemble.New(t.Context(), assemble.LoadedOf(&config.Config{Steps: []config.Step{step, last}, Counting: config.Counting{Tokenizer: config.Choice{Name: "words"}}}),
		assemble.Options{}, assemble.Overrides{Items: items, Overrides: pipeline.Overrides{Explain: true}})
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close(t.Context())
	result, err := a.Build(t.Context(), pipeline.Query{Text: "q"})
	if err != nil {
		t.Fatal(err)
	}
	stories := result.Diagnostics.Items.All()
	if len(stories) != before {
		t.Errorf("%d stories, want %d", len(stories), before)
	}
	stories = slices.DeleteFunc(slices.Clone(stories), func(s explain.ItemTrace) bool { return s.Outcome == explain.DroppedByStep })
	slices.SortFunc(stories, func(a, b explain.ItemTrace) int { return a.Last().Place.From - b.Last().Place.From })
	ids := make([]string, len(stories))
	for i := range stories {
		ids[i] = stories[i].ID
	}
	return ids
}

func TestErrors(t *testing.T) {
	tests := []struct {
		name string
		c    config.Config
		is   error
		want string
	}{
		{"budget", config.Config{Window: config.Window{MaxTokens: 5, Budget: &config.Budget{Preset: "rag"}}}, config.ErrInvalid,
			"invalid: window.max_tokens: preset rag of 5 tokens: invalid value (want 20 or more)"},
		{"builtin", config.Config{Steps: []config.Step{{Name: "a", Use: config.Use{Name: "sort", Settings: map[string]any{"by": "size"}}}}}, config.ErrInvalid,
			`step "a": invalid: sort: settings: by: unknown value "size" (want one of score, priority, created_at, token_count)`},
		{"must", config.Config{Plugins: config.Plugins{Instances: map[string]config.Instance{"i": {Plugin: "p", Must: true}}}}, fs.ErrNotExist,
			`plugins.instances.i: plugin "i": not_found: plugin directory nowhere: open: no such file or directory (create it, or set plugins.dir)`},
		{"formatter", config.Config{Format: config.Choice{Use: &config.Use{Name: "p"}}}, fs.ErrNotExist,
			`format: plugin "p": format: not_found: plugin directory nowhere: open: no such file or directory (create it, or set plugins.dir)`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tt.c.Tokenizer.Name, tt.c.Plugins.Dir, tt.c.Plugins.CacheDir = "words", "nowhere", "off"
			_, err := assemble.New(t.Context(), assemble.LoadedOf(&tt.c), assemble.Options{}, assemble.Overrides{})
			if !errors.Is(err, tt.is) || err.Error() != tt.want {
				t.Errorf("got  %v\nwant %s", err, tt.want)
			}
		})
	}
}

// A step narrows what its plugin reads, or the plugins of its retrievers: a name that the operation does not have
// is refused.
func TestReadsReachThePlugin(t *testing.T) {
	reads := []string{"colour"}
	for name, step := range map[string]config.Step{
		"step":       {Operation: "filter", Use: config.Use{Name: "unfolds-items"}},
		"retrievers": {Retrievers: []config.Member{{Plain: config.Plain{Name: "unfolds-items"}}}},
	} {
		t.Run(name, func(t *testing.T) {
			step.Name, step.Reads = "s", reads
			c := config.Config{Steps: []config.Step{step}}
			c.Tokenizer.Name = "words"
			c.Plugins.Dir, c.Plugins.CacheDir = "../../testdata/wasm", "off"
			g, err := assemble.Open(assemble.LoadedOf(&c), assemble.Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer g.Close(t.Context())
			if _, err = g.Pipeline(t.Context(), ""); err == nil || !strings.Contains(err.Error(), `unknown column "colour"`) {
				t.Errorf("error %v", err)
			}
		})
	}
}

func TestConversation(t *testing.T) {
	a, err := assemble.New(t.Context(), assemble.LoadedOf(&config.Config{Enricher: &config.Enricher{Template: "{query} / {context}"}, Counting: config.Counting{Tokenizer: config.Choice{Name: "words"}}, Memory: config.Memory{Conversation: &config.Conversation{MaxTokens: 3, Turns: []config.Turn{
		{Role: "user", Content: "first turn"}, {Role: "assistant", Content: "second turn"}, {Role: "user", Content: "third"},
	}}}}), assemble.Options{}, assemble.Overrides{})
	if err != nil {
		t.Fatal(err)
	}
	result, err := a.Build(t.Context(), pipeline.Query{Text: "q"})
	if err != nil {
		t.Fatal(err)
	}
	if got := result.Output; got != "=== MEMORY ===\nsecond turn\nthird\n\n=== QUESTION ===\nq" || !result.Diagnostics.QueryEnriched {
		t.Errorf("output %q, enriched %v", got, result.Diagnostics.QueryEnriched)
	}
}

func TestCloseWithoutPlugins(t *testing.T) {
	a, err := assemble.New(t.Context(), assemble.LoadedOf(&config.Config{}), assemble.Options{}, assemble.Overrides{})
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Close(t.Context()); err != nil {
		t.Error(err)
	}
}
