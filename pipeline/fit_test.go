package pipeline

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/anchor-host/anchor-host/pipeline/fill"
	"github.com/anchor-host/anchor-host/pipeline/format"
	"github.com/anchor-host/anchor-host/tokens"
)

func buildItems(t testing.TB, cfg Config, items []Item) *Result {
	t.Helper()
	cfg.Steps = append(cfg.Steps, StepConfig{Name: "search", Step: RetrieverStep(fixedRetriever(items), 100)})
	r, err := mustPipeline(t, cfg).Build(t.Context(), Query{Text: "q"})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func idList(items []Item) string {
	var out []string
	for i := range items {
		out = append(out, items[i].ID)
	}
	return strings.Join(out, " ")
}

func found(contents ...string) []Item {
	items := make([]Item, len(contents))
	for i, c := range contents {
		items[i] = Item{ID: fmt.Sprint(i + 1), Content: c, Source: SourceRetrieval, Priority: 5, Score: 1 - float64(i)/100, CreatedAt: seedEpoch}
	}
	return items
}

func TestExactFitCountsWhatIsFormatted(t *testing.T) {
	items := found("one two three", "four five six", "seven eight nine")
	for _, tc := range []struct {
		formatter Formatter
		max       int
		want      string
		counted   int
		messages  int
	}{
		// headings count one word each of ===, CONTEXT, ===
		{format.Generic{}, 12, "1 2 3", 12, 0}, {format.Generic{}, 11, "1 2", 9, 0}, {format.Generic{}, 2, "", 0, 0},
		// Relevant context: one two three = 5, role 1, message 3, priming 3; --- is a word
		{format.OpenAI{}, 20, "1 2 3", 20, 1}, {format.OpenAI{}, 19, "1 2", 16, 1}, {format.OpenAI{}, 11, "", 3, 0},
		// Here is relevant context: has two words more
		{format.Anthropic{}, 22, "1 2 3", 22, 1}, {format.Anthropic{Caching: true}, 21, "1 2", 18, 1},
	} {
		r := buildItems(t, Config{MaxTokens: tc.max, Tokenizer: WordTokenizer(), Formatter: tc.formatter, Fit: fill.FitExact}, items)
		if got := idList(r.Window.Items); got != tc.want || r.Counted != tc.counted {
			t.Errorf("%T of %d: items %q, %d tokens, want %q, %d", tc.formatter, tc.max, got, r.Counted, tc.want, tc.counted)
		}
		c := r.Counting
		if c.Messages != tc.messages || c.High != r.Counted || c.Low != r.Counted || !c.Exact || c.Budget != tc.max ||
			c.TextTokens+c.OverheadTokens+c.ToolTokens != c.High || c.Tokenizer != "words" {
			t.Errorf("%T of %d: %+v", tc.formatter, tc.max, c)
		}
	}
}

func TestExactFitCountsTools(t *testing.T) {
	cfg := Config{MaxTokens: 25, Tokenizer: WordTokenizer(), Formatter: format.OpenAI{}, Fit: fill.FitExact, Count: fill.CountOptions{Tools: "search the docs now please"}}
	r := buildItems(t, cfg, found("one two three", "four five six", "seven eight nine"))
	if r.Counted != 25 || r.Counting.ToolTokens != 5 || len(r.Window.Items) != 3 {
		t.Errorf("%d tokens, %+v", r.Counted, r.Counting)
	}
	cfg.MaxTokens = 7
	_, err := mustPipeline(t, cfg).Build(t.Context(), Query{Text: "q"})
	if want := "fill: window without items: 8 tokens, 7 allowed: budget exceeded (raise max_tokens, shorten the query, or send fewer tools)"; !errors.Is(err, ErrBudget) || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}

func TestExactFitNamesItsVocabulary(t *testing.T) {
	enc, err := ModelTokenizer("gpt-4o-mini")
	if err != nil {
		t.Fatal(err)
	}
	r := buildItems(t, Config{Tokenizer: enc, Fit: fill.FitExact}, found("hello"))
	if c := r.Counting; c.Tokenizer != "o200k_base" || len(c.Vocabulary) != 64 || !c.Exact {
		t.Errorf("%+v", c)
	}
	doc, err := json.Marshal(r)
	if err != nil || !strings.Contains(string(doc), `"counted_tokens":`) || !strings.Contains(string(doc), `"vocabulary_sha256":"446a9538`) {
		t.Errorf("%s, %v", doc, err)
	}
}

// An estimate is within the budget at its upper end.
func TestExactFitOfAnEstimate(t *testing.T) {
	estimator, err := ModelTokenizer(claude)
	if err != nil {
		t.Fatal(err)
	}
	items := found(slices.Repeat([]string{"The quick brown fox jumps over the lazy dog. "}, 30)...)
	cfg := Config{MaxTokens: 200, Tokenizer: estimator, Formatter: format.Anthropic{}, Fit: fill.FitExact}
	r := buildItems(t, cfg, items)
	c := r.Counting
	if c.Exact || c.Low >= c.High || c.High > 200 || r.Counted != c.High || !strings.Contains(c.Tokenizer, "estimate") {
		t.Errorf("%+v", c)
	}
	before := len(r.Window.Items)
	for range 20 {
		estimator.(*tokens.Estimator).Calibration().Observe(1000, 1100)
	}
	if r = buildItems(t, cfg, items); len(r.Window.Items) <= before || r.Counting.High > 200 {
		t.Errorf("%d items after calibration, %d before; %+v", len(r.Window.Items), before, r.Counting)
	}
}

// When usage figures have narrowed an estimate, system prompts must be counted by it too:
// a window of old and new counts has less room than there is, or claims more.
func TestSystemPromptsFollowTheCalibration(t *testing.T) {
	estimator, err := ModelTokenizer(claude)
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Repeat("The quick brown fox jumps over the lazy dog. ", 30)
	p := mustPipeline(t, Config{Tokenizer: estimator, SystemPrompts: []SystemPrompt{{Content: text}}})
	for _, observed := range []int{0, 1100} {
		for range 20 {
			estimator.(*tokens.Estimator).Calibration().Observe(1000, observed)
		}
		r, err := p.Build(t.Context(), Query{Text: "q"})
		if err != nil {
			t.Fatal(err)
		}
		want, err := estimator.Count(t.Context(), text)
		if err != nil || r.Window.UsedTokens != want[0] {
			t.Errorf("after figures of %d: %d tokens used, want %d, %v", observed, r.Window.UsedTokens, want[0], err)
		}
	}
}

func TestUnknownModelIsEstimated(t *testing.T) {
	tokenizer, err := ModelTokenizer("gpt-4p")
	if _, ok := tokenizer.(*tokens.Estimator); !ok {
		t.Errorf("%T", tokenizer)
	}
	if !errors.Is(err, tokens.ErrUnknownModel) || !strings.Contains(err.Error(), "gpt-4o") {
		t.Error(err)
	}
}

// growing writes more each time it is asked.
type growing struct{ n *int }

func (growing) FormatType() string { return "growing" }

func (g growing) Format(context.Context, *Window) (any, error) {
	*g.n++
	return strings.Repeat("word ", *g.n), nil
}

func TestExactFitRefusesToBeFooled(t *testing.T) {
	n := 0
	p := mustPipeline(t, Config{MaxTokens: 1, Tokenizer: WordTokenizer(), Formatter: growing{&n}, Fit: fill.FitExact})
	if _, err := p.Build(t.Context(), Query{Text: "q"}); !errors.Is(err, ErrBudget) {
		t.Errorf("got %v", err)
	}
}

func TestFitOptionsAreChecked(t *testing.T) {
	for want, cfg := range map[string]Config{
		`pipeline: fit "tight": invalid value (want one of [items exact])`:                                               {Fit: "tight"},
		`pipeline: order "random": invalid value (want one of [priority lost_in_the_middle chronological cache_stable])`: {Order: "random"},
		`pipeline: truncate "word": invalid value (want one of [none sentence character])`:                               {Truncate: fill.Truncation{At: "word"}},
		`pipeline: truncate: min_tokens -1: invalid value (want 0 or more)`:                                              {Truncate: fill.Truncation{MinTokens: -1}},
		`pipeline: count: message_overhead -2: invalid value (want 0 or more, or -1 for none)`:                           {Count: fill.CountOptions{MessageOverhead: -2}},
	} {
		if _, err := New(cfg); !errors.Is(err, ErrInvalid) || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

func TestWindowOrders(t *testing.T) {
	items := found("a", "b", "c", "d", "e")
	for i, id := range []string{"m", "b", "z", "a", "k"} {
		items[i].ID = id
		items[i].CreatedAt = seedEpoch.AddDate(0, 0, (i*3)%5)
	}
	prompts := []SystemPrompt{{Content: "rules"}}
	for order, want := range map[fill.WindowOrder]string{
		"": "system-1 m b z a k", fill.OrderPriority: "system-1 m b z a k", fill.OrderLostInTheMiddle: "system-1 m z k a b",
		fill.OrderChronological: "system-1 m z k b a", fill.OrderCacheStable: "system-1 a b k m z",
	} {
		for _, fit := range fill.Fits {
			r := buildItems(t, Config{Tokenizer: WordTokenizer(), SystemPrompts: prompts, Order: order, Fit: fit}, items)
			if got := idList(r.Window.Items); got != want {
				t.Errorf("%s, %s: %s, want %s", order, fit, got, want)
			}
		}
	}
}

// Turns and instructions keep their places among the context.
func TestWindowOrderMovesContextOnly(t *testing.T) {
	items := found("a", "b", "c", "d")
	items[1].Source, items[1].Metadata = SourceConversation, map[string]any{"role": "user"}
	r := buildItems(t, Config{Tokenizer: WordTokenizer(), Order: fill.OrderLostInTheMiddle}, items)
	if got := idList(r.Window.Items); got != "1 2 4 3" {
		t.Errorf("got %s", got)
	}
}

func TestDefaultsReportNothing(t *testing.T) {
	r := buildItems(t, Config{Tokenizer: WordTokenizer()}, found("a"))
	doc, err := json.Marshal(r)
	if err != nil || r.Diagnostics.Fill != nil || strings.Contains(string(doc), "counted") || strings.Contains(string(doc), "counting") {
		t.Errorf("%s, %v", doc, err)
	}
}

func TestOutputCounterReadsDocuments(t *testing.T) {
	c, err := fill.NewOutputCounter(WordTokenizer(), fill.CountOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for doc, want := range map[string]int{
		`"three plain words"`: 3,
		`{"messages": []}`:    3,
		`{"messages": [{"role": "user", "content": "one two"}]}`:                                                                             3 + 4 + 2,
		`{"system": "be kind", "messages": [{"role": "user", "content": [{"type": "text", "text": "a b"}, {"type": "text", "text": "c"}]}]}`: 3 + 4 + 2 + 4 + 3,
		`{"system": [], "messages": [{"role": "user", "content": "x", "cache_control": {"type": "ephemeral"}}]}`:                             3 + 4 + 1,
		`{"messages": [{"role": "user", "content": [{"type": "image", "source": "x y"}]}]}`:                                                  3 + 4 + 5,
		`{"rows": ["one two", "three"]}`: 2,
		`[1, 2]`:                         1,
	} {
		n, counting, err := c.Count(t.Context(), json.RawMessage(doc))
		if err != nil || n != want || counting.High != n {
			t.Errorf("%s: %d, %+v, %v, want %d", doc, n, counting, err, want)
		}
	}
	if _, _, err := c.Count(t.Context(), func() {}); err == nil {
		t.Error("a function is counted")
	}
	if _, _, err := c.Count(t.Context(), json.RawMessage(`{"a":`)); err == nil {
		t.Error("broken JSON is counted")
	}
}

func FuzzReadOutput(f *testing.F) {
	f.Add(`{"system": [{"text": "a"}], "messages": [{"role": 1, "content": null}, {}]}`)
	c, err := fill.NewOutputCounter(WordTokenizer(), fill.CountOptions{})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, doc string) {
		n, _, err := c.Count(t.Context(), json.RawMessage(doc))
		if (err == nil) != json.Valid([]byte(doc)) || n < 0 {
			t.Fatalf("%q: %d, %v", doc, n, err)
		}
	})
}
