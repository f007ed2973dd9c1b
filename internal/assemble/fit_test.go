package assemble

import (
	"slices"
	"testing"

	"github.com/anchor-host/anchor-host/internal/config"
	"github.com/anchor-host/anchor-host/pipeline"
)

func fitItems() []pipeline.Item {
	var items []pipeline.Item
	for i, text := range []string{"one two three four five six. seven eight", "one two three four five", "one two three four five."} {
		items = append(items, pipeline.Item{ID: string(rune('a' + i)), Content: text, Source: pipeline.SourceRetrieval, Priority: 5, Score: 0.9 - float64(i)/10})
	}
	return items
}

func TestFitSettingsReachTheWindow(t *testing.T) {
	none, two := 0, 2
	for _, tc := range []struct {
		name    string
		config  config.Config
		want    []string
		counted int
	}{
		{"defaults", config.Config{MaxTokens: 12}, []string{"a"}, 0},
		{"knapsack", config.Config{MaxTokens: 12, Fill: "knapsack"}, []string{"b", "c"}, 0},
		{"cut", config.Config{MaxTokens: 6, Truncate: "sentence", FitOptions: config.FitOptions{MinTokens: 3}}, []string{"a"}, 0},
		{"order", config.Config{MaxTokens: 99, Order: "lost_in_the_middle"}, []string{"a", "c", "b"}, 0},
		{"exact", config.Config{MaxTokens: 11, Fit: "exact"}, []string{"a"}, 11},
		{"tools", config.Config{MaxTokens: 11, Fit: "exact", FitOptions: config.FitOptions{Tools: "{}"}}, []string{"b"}, 9},
		{"chat", config.Config{
			MaxTokens: 99, Fit: "exact", Format: config.Choice{Name: "openai"},
			FitOptions: config.FitOptions{MessageOverhead: &two, Priming: &none},
		}, []string{"a", "b", "c"}, 25},
	} {
		c := tc.config
		c.Tokenizer = config.Choice{Name: "words"}
		a, err := New(t.Context(), &c, Options{Items: fitItems()})
		if err != nil {
			t.Fatal(err)
		}
		r, err := a.Build(t.Context(), pipeline.Query{Text: "q"})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, it := range r.Window.Items {
			got = append(got, it.ID)
		}
		if !slices.Equal(got, tc.want) || r.Counted != tc.counted {
			t.Errorf("%s: %v, %d tokens, want %v, %d", tc.name, got, r.Counted, tc.want, tc.counted)
		}
	}
}

func TestModelDecidesTheTokenizer(t *testing.T) {
	c := config.Config{Model: "claude-3-5-haiku-20241022", Fit: "exact"}
	a, err := New(t.Context(), &c, Options{Items: fitItems()})
	if err != nil {
		t.Fatal(err)
	}
	r, err := a.Build(t.Context(), pipeline.Query{Text: "q"})
	if err != nil || r.Counting.Exact || r.Counting.Low >= r.Counting.High {
		t.Errorf("%+v, %v", r.Counting, err)
	}
}
