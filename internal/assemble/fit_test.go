package assemble

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/anchor-host/anchor-host/internal/config"
	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/pipeline/fill"
)

func fitItems() []pipeline.Item {
	var items []pipeline.Item
	for i, text := range []string{"one two three four five six. seven eight", "one two three four five", "one two three four five."} {
		items = append(items, pipeline.Item{ID: string(rune('a' + i)), Content: text, Source: pipeline.SourceRetrieval, Priority: 5, Score: 0.9 - float64(i)/10})
	}
	return items
}

func TestFitSettingsReachTheWindow(t *testing.T) {
	without := false
	for _, tc := range []struct {
		name    string
		config  config.Config
		want    []string
		counted int
	}{
		{"defaults", config.Config{Window: config.Window{MaxTokens: 12}}, []string{"a"}, 0},
		{"knapsack", config.Config{Window: config.Window{MaxTokens: 12, Fill: "knapsack"}}, []string{"b", "c"}, 0},
		{"cut", config.Config{Window: config.Window{MaxTokens: 6, Truncate: "sentence", CutMinTokens: 3}}, []string{"a"}, 0},
		{"order", config.Config{Window: config.Window{MaxTokens: 99, Order: "lost_in_the_middle"}}, []string{"a", "c", "b"}, 0},
		{"exact", config.Config{Window: config.Window{MaxTokens: 11, Fit: "exact"}}, []string{"a"}, 11},
	} {
		c := tc.config
		c.Tokenizer, c.IncludeQuery = config.Choice{Name: "words"}, &without
		a, err := New(t.Context(), LoadedOf(&c), Options{}, Overrides{Items: fitItems()})
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
	c := config.Config{Counting: config.Counting{Model: "claude-3-5-haiku-20241022"}, Window: config.Window{Fit: "exact"}}
	a, err := New(t.Context(), LoadedOf(&c), Options{}, Overrides{Items: fitItems()})
	if err != nil {
		t.Fatal(err)
	}
	r, err := a.Build(t.Context(), pipeline.Query{Text: "q"})
	if err != nil || r.Counting.Exact || r.Counting.Low >= r.Counting.High {
		t.Errorf("%+v, %v", r.Counting, err)
	}
}

// What a build says of its count, with the usage that the model reports, narrows the
// interval of the next one.
func TestUsageFiguresCalibrateAModel(t *testing.T) {
	dir := t.TempDir()
	path := func(name string) string { return filepath.Join(dir, name) }
	build := func(c config.Config) (*fill.Counting, error) {
		c.Model, c.Fit = "claude-sonnet-4-5", "exact"
		items := fitItems()
		items[0].Content = strings.Repeat("the quick brown fox ", 100)
		a, err := New(t.Context(), &config.Loaded{Config: c, Dir: dir}, Options{}, Overrides{Items: items})
		if err != nil {
			return nil, err
		}
		r, err := a.Build(t.Context(), pipeline.Query{Text: "q"})
		if err != nil {
			return nil, err
		}
		return r.Counting, nil
	}
	before, err := build(config.Config{})
	if err != nil || before.BaseTokens < 400 {
		t.Fatalf("%+v, %v", before, err)
	}
	observed := before.BaseTokens * 5 / 4
	line := fmt.Sprintf("{\"model\": \"claude-sonnet-4-5\", \"base_tokens\": %d, \"usage\": {\"input_tokens\": %d}}\n", before.BaseTokens, observed)
	if err := os.WriteFile(path("usage.jsonl"), []byte(strings.Repeat(line, 10)), 0o600); err != nil {
		t.Fatal(err)
	}
	after, err := build(config.Config{Counting: config.Counting{Calibration: "usage.jsonl"}})
	if err != nil || after.BaseTokens != before.BaseTokens || after.Low <= before.Low || after.High >= before.High || after.Low > observed || after.High < observed {
		t.Errorf("before %+v, after %+v, %v", before, after, err)
	}
	if err := os.WriteFile(path("broken.jsonl"), []byte(line+"{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	for file, want := range map[string]string{"broken.jsonl": "line 2: base_tokens 0", "none.jsonl": "no such file"} {
		if _, err := build(config.Config{Counting: config.Counting{Calibration: file}}); !errors.Is(err, config.ErrInvalid) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", file, err, want)
		}
	}
}

// The model of a configuration is also that whose cache the marks are for.
func TestFormatModelDefaultsToTheModel(t *testing.T) {
	items := fitItems()[:1]
	items[0].Content, items[0].TokenCount = strings.Repeat("one two ", 600), 1200
	for _, tc := range []struct {
		model, own string
		marked     bool
	}{
		{"claude-sonnet-4-5", "", true},                 // 1,024 tokens and more
		{"claude-haiku-4-5", "", false},                 // 4,096
		{"claude-haiku-4-5", "claude-sonnet-4-5", true}, // its own wins
		{"", "", false},                                 // the largest
	} {
		c := config.Config{Format: config.Choice{Name: "anthropic"}, FormatOptions: config.FormatOptions{Caching: true, Breakpoints: "auto", Model: tc.own}, Counting: config.Counting{Model: tc.model}}
		a, err := New(t.Context(), LoadedOf(&c), Options{}, Overrides{Items: items})
		if err != nil {
			t.Fatal(err)
		}
		r, err := a.Build(t.Context(), pipeline.Query{Text: "q"})
		if err != nil {
			t.Fatal(err)
		}
		doc, err := json.Marshal(r.Output)
		if marked := strings.Contains(string(doc), "ephemeral"); err != nil || marked != tc.marked {
			t.Errorf("%q, own %q: marked %t, %v", tc.model, tc.own, marked, err)
		}
	}
}
