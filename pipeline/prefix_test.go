package pipeline

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"github.com/anchor-host/anchor-host/pipeline/format"
	"github.com/pkoukk/tiktoken-go"
	loader "github.com/pkoukk/tiktoken-go-loader"
)

func TestPromptOf(t *testing.T) {
	mark := &format.CacheControl{Type: "ephemeral"}
	tests := []struct {
		name   string
		output any
		want   []PromptBlock
	}{
		{"text", "abc", []PromptBlock{{"", true, "abc"}}},
		{"JSON text", json.RawMessage(`"abc"`), []PromptBlock{{"", true, "abc"}}},
		{"any document", map[string]any{"b": "<", "a": 1}, []PromptBlock{{"", true, `{"a":1,"b":"\u003c"}`}}},
		{"the same with spaces", json.RawMessage(`{"a": 1,  "b": "<"}`), []PromptBlock{{"", true, `{"a":1,"b":"\u003c"}`}}},
		{"anthropic", &format.AnthropicOutput{System: []format.TextBlock{{Type: "text", Text: "s1"}, {Type: "text", Text: "s2", CacheControl: mark}}, Messages: []format.AnthropicMessage{
			{Role: RoleUser, Content: []format.TextBlock{{Type: "text", Text: "c", CacheControl: mark}, {Type: "text", Text: "u"}}}, {Role: RoleAssistant, Content: "a", CacheControl: mark},
		}}, []PromptBlock{{"system", true, "s1"}, {"system", false, "s2"}, {"user", true, "c"}, {"user", false, "u"}, {"assistant", true, "a"}}},
		{"tools", &format.AnthropicOutput{Messages: []format.AnthropicMessage{{Role: RoleAssistant, Content: []any{
			format.TextBlock{Type: "text", Text: "t"}, format.ToolUseBlock{Type: "tool_use", ID: "1", Name: "f", Input: json.RawMessage(`{"x":1}`)},
		}}}}, []PromptBlock{{"assistant", true, "t"}, {"assistant", false, `{"id":"1","input":{"x":1},"name":"f","type":"tool_use"}`}}},
		{"openai", &format.OpenAIOutput{Messages: []Message{{Role: RoleSystem, Content: "s"}, {Role: RoleTool, Content: "r", ToolCallID: "1"}}},
			[]PromptBlock{{"system", true, "s"}, {"tool", true, "r"}, {"tool", false, `tool_call_id: "1"`}}},
		{"system as text", json.RawMessage(`{"system": "s", "messages": [{"role": "user", "content": [{"type": "text", "text": "x", "cache_control": {"type": "ephemeral"}}]}]}`),
			[]PromptBlock{{"system", true, "s"}, {"user", true, "x"}}},
		{"odd roles", json.RawMessage(`{"messages": [{"role": 1, "content": 2}]}`), []PromptBlock{{"", true, "2"}, {"", false, "role: 1"}}},
		{"nothing", &format.AnthropicOutput{Messages: []format.AnthropicMessage{}}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := PromptOf(tt.output)
			if err != nil || !reflect.DeepEqual(got, tt.want) {
				t.Errorf("got %+v, %v", got, err)
			}
			doc, err := json.Marshal(tt.output)
			if err != nil {
				t.Fatal(err)
			}
			if again, err := PromptOf(json.RawMessage(doc)); err != nil || !reflect.DeepEqual(again, tt.want) {
				t.Errorf("as a document: %+v, %v", again, err)
			}
		})
	}
	if _, err := PromptOf(json.RawMessage(`{`)); !errors.Is(err, ErrInvalid) {
		t.Errorf("no document: %v", err)
	}
	if _, err := PromptOf(func() {}); err == nil {
		t.Error("a function is no output")
	}
}

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
			tracker := mustTracker(t, PrefixOptions{Tokenizer: WordTokenizer()})
			if r, err := tracker.Observe(t.Context(), "x", first); r != nil || err != nil {
				t.Fatalf("first build: %+v, %v", r, err)
			}
			r, err := tracker.Observe(t.Context(), "x", second)
			if err != nil {
				t.Fatal(err)
			}
			got := "-"
			if b := r.BrokenBy; b != nil {
				got = b.How + " " + b.Item
				if b.StoryStage != nil {
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

func mustTracker(t testing.TB, o PrefixOptions) *PrefixTracker {
	t.Helper()
	tracker, err := NewPrefixTracker(o)
	if err != nil {
		t.Fatal(err)
	}
	return tracker
}

// naivePrefix compares two prompts token by token, block by block.
func naivePrefix(a, b []PromptBlock, encode func(string) []string) (common int, broken bool) {
	for i := range a {
		if i == len(b) {
			return common, false
		}
		if a[i].Role != b[i].Role || a[i].Begins != b[i].Begins {
			return common, true
		}
		x, y := encode(a[i].Text), encode(b[i].Text)
		head := encode(a[i].Text[:commonPrefix(a[i].Text, b[i].Text)]) // other white space is a difference
		for j := range x {
			if j == len(y) || x[j] != y[j] || j >= len(head) {
				return common, true
			}
			common++
		}
		if a[i].Text != b[i].Text {
			return common, true
		}
	}
	return common, false
}

func randomPrompt(r *rand.Rand, like []PromptBlock) []PromptBlock {
	out := slices.Clone(like)
	for range r.IntN(3) + 1 {
		switch {
		case len(out) == 0 || r.IntN(4) == 0:
			at := r.IntN(len(out) + 1)
			out = slices.Insert(out, at, PromptBlock{[]Role{RoleUser, RoleAssistant}[r.IntN(2)], r.IntN(2) == 0, randomWords(r)})
		case r.IntN(4) == 0:
			out = out[:r.IntN(len(out))]
		default:
			b := &out[r.IntN(len(out))]
			at := r.IntN(len(b.Text) + 1)
			for at < len(b.Text) && !utf8.RuneStart(b.Text[at]) {
				at++
			}
			b.Text = b.Text[:at] + randomWords(r) + b.Text[at:]
		}
	}
	return out
}

func randomWords(r *rand.Rand) string {
	parts := []string{"the", "quick", "brown", "fox", "naïve", "日本語", "x", "1234", "don't", "\n", "  ", " ", " ", ".", ",\n", "é"}
	var b strings.Builder
	for range r.IntN(12) {
		b.WriteString(parts[r.IntN(len(parts))])
	}
	return b.String()
}

func snapshotOf(blocks []PromptBlock) *PromptSnapshot { return &PromptSnapshot{blocks: blocks} }

// Counted in words the common prefix is exactly that of the lists of words.
func TestPrefixAgainstBruteForce(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 2))
	var before []PromptBlock
	for range 20000 {
		after := randomPrompt(r, before)
		checkPrefix(t, WordTokenizer(), before, after, strings.Fields, 0)
		before = after
		if len(before) > 12 {
			before = nil
		}
	}
}

// Counted in tokens it is at most one more than that of the ids: a last token whose rest
// is behind the common text.
func TestPrefixAgainstTokenIDs(t *testing.T) {
	tiktoken.SetBpeLoader(loader.NewOfflineLoader())
	enc, err := tiktoken.GetEncoding("cl100k_base")
	if err != nil {
		t.Fatal(err)
	}
	encode := func(text string) (ids []string) {
		for _, id := range enc.EncodeOrdinary(text) {
			ids = append(ids, fmt.Sprint(id))
		}
		return ids
	}
	tokenizer, err := EncodingTokenizer("cl100k_base")
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(8, 1))
	var before []PromptBlock
	for range 1500 {
		after := randomPrompt(r, before)
		checkPrefix(t, tokenizer, before, after, encode, 1)
		before = after
		if len(before) > 12 {
			before = nil
		}
	}
}

func checkPrefix(t *testing.T, tokenizer Tokenizer, before, after []PromptBlock, encode func(string) []string, above int) {
	t.Helper()
	got, err := ComparePrefix(t.Context(), tokenizer, snapshotOf(before), snapshotOf(after), nil)
	if err != nil {
		t.Fatal(err)
	}
	want, broken := naivePrefix(before, after, encode)
	if !looseEnd(before, after) && (got.CommonTokens > want+above || above == 0 && got.CommonTokens != want) {
		t.Fatalf("%+v\n%+v\ngot %d tokens in common, want %d", before, after, got.CommonTokens, want)
	}
	if (got.BrokenBy != nil) != broken {
		t.Fatalf("%+v\n%+v\nbroken by %+v, want %v", before, after, got.BrokenBy, broken)
	}
	if got.CommonTokens > got.PreviousTokens || got.CommonTokens > got.Tokens {
		t.Fatalf("%+v: more in common than there is", got)
	}
	same, err := ComparePrefix(t.Context(), tokenizer, snapshotOf(after), snapshotOf(after), nil)
	if err != nil || same.BrokenBy != nil || same.CommonTokens != same.Tokens || same.PreviousTokens != same.Tokens {
		t.Fatalf("against itself: %+v, %v", same, err)
	}
}

// looseEnd reports whether the first difference is in a word too long for wholeWords.
func looseEnd(a, b []PromptBlock) bool {
	for i := range min(len(a), len(b)) {
		if a[i] == b[i] {
			continue
		}
		at := commonPrefix(a[i].Text, b[i].Text)
		return at > longWord && !strings.ContainsAny(a[i].Text[at-longWord:at], " \n")
	}
	return false
}

func TestPrefixTrackerIsBounded(t *testing.T) {
	tracker := mustTracker(t, PrefixOptions{Tokenizer: WordTokenizer(), Conversations: 3})
	result := func(text string) *Result {
		return &Result{Window: &Window{}, Output: text, Diagnostics: &Diagnostics{}}
	}
	observe := func(conversation, text string) *PrefixReport {
		r, err := tracker.Observe(t.Context(), conversation, result(text))
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	for i := range 5 {
		observe(fmt.Sprint(i), "text")
	}
	if n := tracker.Len(); n != 3 {
		t.Errorf("%d conversations, want 3", n)
	}
	if observe("4", "text") == nil || observe("0", "text") != nil {
		t.Error("the newest is forgotten, or the oldest is not")
	}
	if observe("2", "text") != nil {
		t.Error("2 was the oldest")
	}
	tracker.Forget("4")
	if observe("4", "text") != nil {
		t.Error("a forgotten conversation is remembered")
	}
	small := mustTracker(t, PrefixOptions{Tokenizer: WordTokenizer(), Bytes: 500})
	for i := range 10 {
		if _, err := small.Observe(t.Context(), fmt.Sprint(i), result(strings.Repeat("x", 100))); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := small.Observe(t.Context(), "large", result(strings.Repeat("x", 600))); err != nil || small.Len() != 3 {
		t.Errorf("%d conversations, %v", small.Len(), err)
	}
	for _, o := range []PrefixOptions{{Conversations: -1}, {Bytes: -1}} {
		if _, err := NewPrefixTracker(o); !errors.Is(err, ErrInvalid) {
			t.Errorf("%+v: %v", o, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	strict := mustTracker(t, PrefixOptions{})
	if _, err := strict.Observe(ctx, "x", result("text")); !errors.Is(err, context.Canceled) || strict.Len() != 0 {
		t.Errorf("cancelled: %v, %d conversations", err, strict.Len())
	}
}

func TestPrefixTrackerConcurrently(t *testing.T) {
	tracker := mustTracker(t, PrefixOptions{Tokenizer: WordTokenizer(), Conversations: 4})
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			for i := range 200 {
				r := &Result{Window: &Window{}, Output: strings.Repeat("w ", i), Diagnostics: &Diagnostics{}}
				if _, err := tracker.Observe(context.Background(), fmt.Sprint((g+i)%6), r); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if tracker.Len() > 4 {
		t.Errorf("%d conversations", tracker.Len())
	}
}

func ExamplePrefixTracker() {
	tracker, err := NewPrefixTracker(PrefixOptions{Tokenizer: WordTokenizer()})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, text := range []string{"be brief, and kind", "be brief, and stern"} {
		r := &Result{Window: &Window{}, Output: text, Diagnostics: &Diagnostics{}}
		if report, err := tracker.Observe(context.Background(), "conversation-1", r); report != nil {
			fmt.Println(report.CommonTokens, "of", report.PreviousTokens, err)
		}
	}
	// Output: 3 of 4 <nil>
}
