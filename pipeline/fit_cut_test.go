package pipeline

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/anchor-host/anchor-host/pipeline/fill"
)

func TestTruncationFillsTheWindow(t *testing.T) {
	items := found("one two three.", "four five six. seven eight nine. ten", "eleven")
	for _, fit := range fill.Fits {
		cfg := Config{MaxTokens: 8, Tokenizer: WordTokenizer(), Fit: fit, Truncate: fill.Truncation{At: fill.CutSentence, MinTokens: 2}}
		if fit == fill.FitExact {
			cfg.MaxTokens += 3 // the heading
		}
		r := buildItems(t, cfg, items)
		if idList(r.Window.Items) != "1 2 3" || r.Window.Items[1].Content != "four five six." || r.Window.Items[1].Metadata["truncated"] != true {
			t.Errorf("%s: %+v", fit, r.Window.Items)
		}
		f := r.Diagnostics.Fill
		if len(f.Truncated) != 1 || f.Truncated[0] != (fill.TruncatedItem{ID: "2", TokensBefore: 7, TokensAfter: 3}) || r.Window.UsedTokens != 7 {
			t.Errorf("%s: %+v, %d tokens", fit, f, r.Window.UsedTokens)
		}
		want := fill.ItemValue(&items[0]) + fill.ItemValue(&items[1])*3/7 + fill.ItemValue(&items[2])
		if math.Abs(f.Value-want) > 1e-9 {
			t.Errorf("%s: a window of the value %v, want %v: the second item counts for its 3 of 7 tokens", fit, f.Value, want)
		}
		if items[1].Metadata != nil || items[1].Content != "four five six. seven eight nine. ten" {
			t.Errorf("%s: the retriever's item was changed: %+v", fit, items[1])
		}
	}
}

func TestTruncationWithinCaps(t *testing.T) {
	items := found("one two three four.", "five six. seven eight.")
	budget := &fill.Budget{TotalTokens: 100, Allocations: []fill.Allocation{{Source: SourceRetrieval, MaxTokens: 7}}}
	cfg := Config{MaxTokens: 100, Tokenizer: WordTokenizer(), Budget: budget, Truncate: fill.Truncation{At: fill.CutCharacter, MinTokens: 1}}
	r := buildItems(t, cfg, items)
	if len(r.Window.Items) != 2 || r.Window.Items[1].Content != "five six. seven" || r.Diagnostics.Fill.Truncated[0].TokensBefore != 4 {
		t.Errorf("%+v", r.Window.Items)
	}
	budget.Allocations[0].Overflow = fill.OverflowDrop
	if r = buildItems(t, cfg, items); len(r.Window.Items) != 0 {
		t.Errorf("drop: %+v", r.Window.Items)
	}
}

func TestSystemItemsAreNotCut(t *testing.T) {
	cfg := Config{
		MaxTokens: 3, Tokenizer: WordTokenizer(), Truncate: fill.Truncation{At: fill.CutCharacter, MinTokens: 1},
		SystemPrompts: []SystemPrompt{{Content: "one two three four five"}},
	}
	if _, err := mustPipeline(t, cfg).Build(t.Context(), Query{Text: "q"}); !withoutSystem(err) {
		t.Errorf("%v", err)
	}
}

// What is exact stays exact when texts are cut.
func TestExactFitHoldsWithCuts(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(9, 9))
	c := newIndependent(t, "o200k_base")
	cut := 0
	for round := range 1500 {
		w := newRandomWindow(t, r, "o200k_base")
		w.cfg.Truncate = fill.Truncation{At: fill.Cuttings[1+r.IntN(2)], MinTokens: 1 + r.IntN(8)}
		result, err := mustPipeline(t, w.cfg).Build(t.Context(), Query{Text: "q"})
		if withoutSystem(err) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		if n := c.output(t, result.Output, w.cfg.Count); n > w.cfg.MaxTokens || n != result.Counted {
			t.Fatalf("round %d: %d tokens of %d, counted as %d", round, n, w.cfg.MaxTokens, result.Counted)
		}
		cut += len(result.Diagnostics.Fill.Truncated)
	}
	if cut < 300 {
		t.Errorf("only %d items were cut", cut)
	}
}

// An item that the cap of its source has cut, and that the window has no room for
// either, must be reported whole: a caller who sends it elsewhere would lose the rest of
// its text, or read that a text of 100 words has 20 tokens.
func TestOverflowIsReportedWhole(t *testing.T) {
	text := strings.TrimSpace(strings.Repeat("word ", 100))
	for _, fit := range fill.Fits {
		for _, strategy := range []fill.Strategy{nil, fill.ValuePerToken{}} {
			items := found(text, text)
			items[0].Source, items[0].Priority, items[0].Content = SourceUser, 9, text[:5*25-1]
			r := buildItems(t, Config{
				MaxTokens: 40, Tokenizer: WordTokenizer(), Fit: fit, Fill: strategy, Truncate: fill.Truncation{At: fill.CutCharacter, MinTokens: 18},
				Budget: &fill.Budget{TotalTokens: 40, Allocations: []fill.Allocation{{Source: SourceRetrieval, MaxTokens: 20}}},
			}, items)
			if len(r.Overflow) != 1 || len(r.Window.Items) != 1 {
				t.Fatalf("%s: %d in the window, %d not", fit, len(r.Window.Items), len(r.Overflow))
			}
			if o := r.Overflow[0]; o.Content != text || o.TokenCount != 100 || o.Metadata["truncated"] != nil {
				t.Errorf("%s: overflow of %d bytes and %d tokens, metadata %v", fit, len(o.Content), o.TokenCount, o.Metadata)
			}
		}
	}
}

// tellingFormatter writes what it is told of the items.
type tellingFormatter struct{}

func (tellingFormatter) FormatType() string { return "telling" }

func (tellingFormatter) Format(_ context.Context, w *Window) (any, error) {
	var b strings.Builder
	for i := range w.Items {
		it := &w.Items[i]
		fmt.Fprintf(&b, "%s of %d tokens, since %v: %v\n", it.Content, it.TokenCount, !it.CreatedAt.IsZero(), it.Metadata["truncated"])
	}
	return b.String(), nil
}

// A formatter is told of the items as the result has them, also of those that are cut.
func TestFormattersAreToldOfTheItemsOfTheResult(t *testing.T) {
	for _, fit := range fill.Fits {
		cfg := Config{MaxTokens: 7, Tokenizer: WordTokenizer(), Fit: fit, Formatter: tellingFormatter{}, Truncate: fill.Truncation{At: fill.CutSentence, MinTokens: 2}}
		if fit == fill.FitExact {
			cfg.MaxTokens += 12 // what the formatter adds to the items
		}
		r := buildItems(t, cfg, found("one two three.", "four five six. seven eight nine. ten eleven twelve. one two three. four five six."))
		want, err := cfg.Formatter.Format(t.Context(), r.Window)
		if err != nil || len(r.Diagnostics.Fill.Truncated) != 1 {
			t.Fatalf("%s: error %v, %+v, want one item that is cut", fit, err, r.Diagnostics.Fill)
		}
		if r.Output != want {
			t.Errorf("%s: got\n%s\nwant\n%s", fit, r.Output, want)
		}
	}
}
