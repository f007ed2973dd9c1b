package pipeline

import (
	"fmt"
	"slices"
	"testing"

	"github.com/anchor-host/anchor-host/pipeline/format"
	"github.com/anchor-host/anchor-host/pipeline/promptcache"
)

// What breaks the prefix, and which step did it.
func TestPrefixIsBrokenBy(t *testing.T) {
	base := []Item{
		{ID: "a", Content: "alpha one two", Source: SourceRetrieval, Score: 0.9, Priority: 5, CreatedAt: seedEpoch},
		{ID: "b", Content: "beta three four", Source: SourceRetrieval, Score: 0.8, Priority: 5, CreatedAt: seedEpoch},
		{ID: "c", Content: "gamma five six", Source: SourceRetrieval, Score: 0.7, Priority: 5, CreatedAt: seedEpoch},
	}
	turn := Item{ID: "t1", Content: "hello there", Source: SourceConversation, Priority: 7, CreatedAt: seedEpoch}
	tests := []struct {
		name   string
		found  []Item
		memory []Item
		step   func(items []Item) []Item
		want   string // how item by stage step, common tokens
	}{
		{"nothing", base, []Item{turn}, nil, "-, 19 of 19"},
		{"a turn is added", base, []Item{turn, {ID: "t2", Content: "hi", Source: SourceConversation, Priority: 7, CreatedAt: seedEpoch, Sequence: 2, Metadata: map[string]any{"role": "assistant"}}}, nil, "-, 19 of 19"},
		{"an item comes", append(slices.Clone(base), Item{ID: "n", Content: "new", Source: SourceRetrieval, Score: 0.85, Priority: 5, CreatedAt: seedEpoch}), []Item{turn}, nil, "added n by step find, 10 of 19"},
		{"an item comes last", append(slices.Clone(base), Item{ID: "n", Content: "new", Source: SourceRetrieval, Score: 0.1, Priority: 5, CreatedAt: seedEpoch}), []Item{turn}, nil, "added n by step find, 17 of 19"},
		{"an item is not found", base[1:], []Item{turn}, nil, "removed a, 6 of 19"},
		{"a step drops", base, []Item{turn}, func(items []Item) []Item {
			return slices.DeleteFunc(items, func(it Item) bool { return it.ID == "b" })
		}, "removed b by step s, 10 of 19"},
		{"a step rescores", base, []Item{turn}, func(items []Item) []Item {
			for i := range items {
				if items[i].ID == "c" {
					items[i].Score = 0.85
				}
			}
			return items
		}, "moved c by step s, 10 of 19"},
		{"a step rewrites", base, []Item{turn}, func(items []Item) []Item {
			for i := range items {
				if items[i].ID == "b" {
					items[i].Content = "beta three other"
				}
			}
			return items
		}, "rewritten b by step s, 12 of 19"},
		{"memory forgets", base, nil, nil, "-, 17 of 19"},
		{"another turn", base, []Item{{ID: "t9", Content: "hello you", Source: SourceConversation, Priority: 7, CreatedAt: seedEpoch}}, nil, "added t9 by memory , 18 of 19"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			first := prefixBuild(t, base, []Item{turn}, nil)
			second := prefixBuild(t, tt.found, tt.memory, tt.step)
			tracker := mustTracker(t)
			if r, err := first.TrackPrefix(t.Context(), tracker, "x"); r != nil || err != nil {
				t.Fatalf("first build: %+v, %v", r, err)
			}
			r, err := second.TrackPrefix(t.Context(), tracker, "x")
			if err != nil {
				t.Fatal(err)
			}
			got := "-"
			if b := r.BrokenBy; b != nil {
				got = b.How + " " + b.Item
				if b.Origin != nil {
					got += " by " + b.Stage + " " + b.Step
				}
			}
			if got += fmt.Sprintf(", %d of %d", r.CommonTokens, r.PreviousTokens); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
			if second.Diagnostics.Cache != r {
				t.Error("the diagnostics lack the report")
			}
		})
	}
}

// prefixBuild formats for Anthropic: a system prompt of two words, a heading of four.
func prefixBuild(t *testing.T, found, memory []Item, step func([]Item) []Item) *Result {
	t.Helper()
	if step == nil {
		step = func(items []Item) []Item { return items }
	}
	return mustBuild(t, Config{
		Explain: true, Formatter: format.Anthropic{Caching: true}, SystemPrompts: []SystemPrompt{{Content: "be brief"}}, Memory: fixedMemory(memory),
		Steps: []StepConfig{{Name: "find", Step: RetrieverStep(fixedRetriever(found), 10), Priority: 1}, {Name: "s", Step: edited(step)}},
	})
}

func mustTracker(t testing.TB) *promptcache.Tracker {
	t.Helper()
	tracker, err := promptcache.NewTracker(promptcache.Options{Tokenizer: WordTokenizer()})
	if err != nil {
		t.Fatal(err)
	}
	return tracker
}
