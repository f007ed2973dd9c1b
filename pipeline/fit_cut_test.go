package pipeline

import (
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestCutPlaces(t *testing.T) {
	const text = "One two. Three four? Five"
	for _, tc := range []struct {
		at   Cutting
		text string
		n    int
		want string
	}{
		{CutSentence, text, 24, "One two. Three four?"}, {CutSentence, text, 20, "One two. Three four?"}, {CutSentence, text, 19, "One two."},
		{CutSentence, text, 7, ""}, {CutSentence, text, len(text), text},
		{CutSentence, "Version 1.25 is out. More", 24, "Version 1.25 is out."}, {CutSentence, "See e.g. this. More", 18, "See e.g. this."},
		{CutSentence, "He said \"no.\" Then", 16, "He said \"no.\""}, {CutSentence, "- first\n- second", 12, "- first"},
		{CutSentence, "本日は晴天。明日は雨。終", 33, "本日は晴天。明日は雨。"}, {CutSentence, "本日は晴天。明日", 21, "本日は晴天。"},
		{CutSentence, "Wait... what", 9, "Wait..."}, {CutSentence, "No end here", 8, ""},
		{CutCharacter, "hello world", 8, "hello wo"}, {CutCharacter, "hello world", 6, "hello"},
		{CutCharacter, "cafe\u0301s", 4, "caf"}, {CutCharacter, "a👩\u200d👧b", 5, "a"}, {CutCharacter, "a👩\u200d👧b", 8, "a"},
		{CutCharacter, "x🇩🇪🇫🇷", 5, "x"}, {CutCharacter, "x🇩🇪🇫🇷", 9, "x🇩🇪"}, {CutCharacter, "x🇩🇪🇫🇷", 13, "x🇩🇪"}, {CutCharacter, "x👍🏽y", 5, "x"},
	} {
		c := Truncation{At: tc.at}
		if got := c.end(tc.text, tc.n); got != tc.want {
			t.Errorf("%s: %q[:%d] ends as %q, want %q", tc.at, tc.text, tc.n, got, tc.want)
		}
	}
}

// A cut text is a beginning of the whole, within its limit, not shorter than is useful,
// and ends where it may.
func TestCutTexts(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 8))
	cut := 0
	for _, name := range []string{"cl100k_base", "words"} {
		tokenizer, err := EncodingTokenizer(name)
		if err != nil {
			t.Fatal(err)
		}
		for range 3000 {
			text, limit := randomContent(r), r.IntN(60)
			c := Truncation{At: Cuttings[1+r.IntN(2)], MinTokens: 1 + r.IntN(10)}
			got, n, err := c.text(t.Context(), tokenizer, text, limit)
			if err != nil {
				t.Fatal(err)
			}
			if got == "" {
				continue
			}
			cut++
			counts, err := tokenizer.Count(t.Context(), got)
			if err != nil {
				t.Fatal(err)
			}
			if !strings.HasPrefix(text, got) || got == text || counts[0] != n || n > limit || n < c.MinTokens || strings.TrimSpace(got) == "" {
				t.Fatalf("%s: %q cut at a %s to %d is %q of %d", name, text, c.At, limit, got, n)
			}
			if rest := text[len(got):]; utf8.ValidString(text) && !utf8.RuneStart(rest[0]) {
				t.Fatalf("%q is cut inside a character: %q", text, got)
			}
		}
	}
	if cut < 500 {
		t.Errorf("only %d texts were cut", cut)
	}
}

func TestTruncationFillsTheWindow(t *testing.T) {
	items := found("one two three.", "four five six. seven eight nine. ten", "eleven")
	for _, fit := range Fits {
		cfg := Config{MaxTokens: 8, Tokenizer: WordTokenizer(), Fit: fit, Truncate: Truncation{At: CutSentence, MinTokens: 2}}
		if fit == FitExact {
			cfg.MaxTokens += 3 // the heading
		}
		r := buildItems(t, cfg, items)
		if idList(r.Window.Items) != "1 2 3" || r.Window.Items[1].Content != "four five six." || r.Window.Items[1].Metadata["truncated"] != true {
			t.Errorf("%s: %+v", fit, r.Window.Items)
		}
		f := r.Diagnostics.Fill
		if len(f.Truncated) != 1 || f.Truncated[0] != (TruncatedItem{"2", 7, 3}) || r.Window.UsedTokens != 7 {
			t.Errorf("%s: %+v, %d tokens", fit, f, r.Window.UsedTokens)
		}
		if items[1].Metadata != nil || items[1].Content != "four five six. seven eight nine. ten" {
			t.Errorf("%s: the retriever's item was changed: %+v", fit, items[1])
		}
	}
}

func TestTruncationWithinCaps(t *testing.T) {
	items := found("one two three four.", "five six. seven eight.")
	budget := &Budget{TotalTokens: 100, Allocations: []Allocation{{Source: SourceRetrieval, MaxTokens: 7}}}
	cfg := Config{MaxTokens: 100, Tokenizer: WordTokenizer(), Budget: budget, Truncate: Truncation{At: CutCharacter, MinTokens: 1}}
	r := buildItems(t, cfg, items)
	if len(r.Window.Items) != 2 || r.Window.Items[1].Content != "five six. seven" || r.Diagnostics.Fill.Truncated[0].TokensBefore != 4 {
		t.Errorf("%+v", r.Window.Items)
	}
	budget.Allocations[0].Overflow = OverflowDrop
	if r = buildItems(t, cfg, items); len(r.Window.Items) != 0 {
		t.Errorf("drop: %+v", r.Window.Items)
	}
}

func TestSystemItemsAreNotCut(t *testing.T) {
	cfg := Config{
		MaxTokens: 3, Tokenizer: WordTokenizer(), Truncate: Truncation{At: CutCharacter, MinTokens: 1},
		SystemPrompts: []SystemPrompt{{Content: "one two three four five"}},
	}
	if r := buildItems(t, cfg, nil); len(r.Window.Items) != 0 || len(r.Overflow) != 1 {
		t.Errorf("%+v", r.Window.Items)
	}
}

// What is exact stays exact when texts are cut.
func TestExactFitHoldsWithCuts(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 9))
	c := newIndependent(t, "o200k_base")
	cut := 0
	for round := range 1500 {
		w := newRandomWindow(t, r, "o200k_base")
		w.cfg.Truncate = Truncation{At: Cuttings[1+r.IntN(2)], MinTokens: 1 + r.IntN(8)}
		result, err := mustPipeline(t, w.cfg).Build(t.Context(), Query{Text: "q"})
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

func FuzzCut(f *testing.F) {
	f.Add("One. Two! 三。\u0301🇩🇪👩\u200d👧", 7)
	f.Fuzz(func(t *testing.T, text string, n int) {
		if n < 0 || n > len(text) || n < len(text) && !utf8.RuneStart(text[n]) {
			return
		}
		for _, at := range []Cutting{CutSentence, CutCharacter} {
			c := Truncation{At: at}
			if got := c.end(text, n); len(got) > n || !strings.HasPrefix(text, got) {
				t.Fatalf("%s: %q[:%d] ends as %q", at, text, n, got)
			}
		}
	})
}

// An item that the cap of its source has cut, and that the window has no room for
// either, must be reported whole: a caller who sends it elsewhere would lose the rest of
// its text, or be told of a text of 100 words that it takes 20 tokens.
func TestOverflowIsReportedWhole(t *testing.T) {
	text := strings.TrimSpace(strings.Repeat("word ", 100))
	for _, fit := range Fits {
		for _, fill := range []Strategy{nil, ValuePerToken{}} {
			items := found(text, text)
			items[0].Source, items[0].Priority, items[0].Content = SourceUser, 9, text[:5*25-1]
			r := buildItems(t, Config{
				MaxTokens: 40, Tokenizer: WordTokenizer(), Fit: fit, Fill: fill, Truncate: Truncation{At: CutCharacter, MinTokens: 18},
				Budget: &Budget{TotalTokens: 40, Allocations: []Allocation{{Source: SourceRetrieval, MaxTokens: 20}}},
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
