package promptcache

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

	"github.com/pkoukk/tiktoken-go"
	loader "github.com/pkoukk/tiktoken-go-loader"

	"github.com/anchor-host/anchor-host/pipeline/core"
	"github.com/anchor-host/anchor-host/pipeline/format"
	"github.com/anchor-host/anchor-host/tokens"
)

func TestBlocks(t *testing.T) {
	mark := &format.CacheControl{Type: "ephemeral"}
	tests := []struct {
		name   string
		output any
		want   []Block
	}{
		{"text", "abc", []Block{{"", true, "abc"}}},
		{"JSON text", json.RawMessage(`"abc"`), []Block{{"", true, "abc"}}},
		{"any document", map[string]any{"b": "<", "a": 1}, []Block{{"", true, `{"a":1,"b":"\u003c"}`}}},
		{"the same with spaces", json.RawMessage(`{"a": 1,  "b": "<"}`), []Block{{"", true, `{"a":1,"b":"\u003c"}`}}},
		{"anthropic", &format.AnthropicOutput{System: []format.TextBlock{{Type: "text", Text: "s1"}, {Type: "text", Text: "s2", CacheControl: mark}}, Messages: []format.AnthropicMessage{
			{Role: core.RoleUser, Content: []format.TextBlock{{Type: "text", Text: "c", CacheControl: mark}, {Type: "text", Text: "u"}}}, {Role: core.RoleAssistant, Content: "a"},
		}}, []Block{{"system", true, "s1"}, {"system", false, "s2"}, {"user", true, "c"}, {"user", false, "u"}, {"assistant", true, "a"}}},
		{"tools", &format.AnthropicOutput{Messages: []format.AnthropicMessage{{Role: core.RoleAssistant, Content: []any{
			format.TextBlock{Type: "text", Text: "t"}, format.ToolUseBlock{Type: "tool_use", ID: "1", Name: "f", Input: json.RawMessage(`{"x":1}`)},
		}}}}, []Block{{"assistant", true, "t"}, {"assistant", false, `{"id":"1","input":{"x":1},"name":"f","type":"tool_use"}`}}},
		{"openai", &format.OpenAIOutput{Messages: []any{format.OpenAIMessage{Role: core.RoleSystem, Content: "s"}, format.OpenAIMessage{Role: core.RoleTool, Content: "r", ToolCallID: "1"}}},
			[]Block{{"system", true, "s"}, {"tool", true, "r"}, {"tool", false, `tool_call_id: "1"`}}},
		{"system as text", json.RawMessage(`{"system": "s", "messages": [{"role": "user", "content": [{"type": "text", "text": "x", "cache_control": {"type": "ephemeral"}}]}]}`),
			[]Block{{"system", true, "s"}, {"user", true, "x"}}},
		{"odd roles", json.RawMessage(`{"messages": [{"role": 1, "content": 2}]}`), []Block{{"", true, "2"}, {"", false, "role: 1"}}},
		{"responses", &format.ResponsesOutput{Instructions: "s", Tools: json.RawMessage(`[{"a": 1}]`), Input: []any{format.ResponsesMessage{Role: core.RoleUser, Content: "u"}, format.ResponsesCall{Type: "function_call", CallID: "c", Name: "n", Arguments: "{}"}}},
			[]Block{{"", true, `[{"a":1}]`}, {core.RoleSystem, true, "s"}, {core.RoleUser, true, "u"}, {"", true, `arguments: "{}"`}, {"", false, `call_id: "c"`}, {"", false, `name: "n"`}, {"", false, `type: "function_call"`}}},
		{"gemini", &format.GeminiOutput{SystemInstruction: &format.GeminiContent{Parts: []any{format.GeminiText{Text: "s"}}}, Contents: []format.GeminiContent{{Role: "user", Parts: []any{format.GeminiText{Text: "u"}, format.GeminiText{Text: "v"}}}}},
			[]Block{{core.RoleSystem, true, "s"}, {core.RoleUser, true, "u"}, {core.RoleUser, false, "v"}}},
		{"nothing", &format.AnthropicOutput{Messages: []format.AnthropicMessage{}}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := Blocks(tt.output)
			if err != nil || !reflect.DeepEqual(got, tt.want) {
				t.Errorf("got %+v, %v", got, err)
			}
			doc, err := json.Marshal(tt.output)
			if err != nil {
				t.Fatal(err)
			}
			if again, err := Blocks(json.RawMessage(doc)); err != nil || !reflect.DeepEqual(again, tt.want) {
				t.Errorf("as a document: %+v, %v", again, err)
			}
		})
	}
	if _, err := Blocks(json.RawMessage(`{`)); !errors.Is(err, core.ErrInvalid) {
		t.Errorf("no document: %v", err)
	}
	if _, err := Blocks(func() {}); err == nil {
		t.Error("a function is no output")
	}
}

func mustTracker(t testing.TB, o Options) *Tracker {
	t.Helper()
	tracker, err := NewTracker(o)
	if err != nil {
		t.Fatal(err)
	}
	return tracker
}

// naivePrefix compares two prompts token by token, block by block.
func naivePrefix(a, b []Block, encode func(string) []string) (common int, broken bool) {
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

func randomPrompt(r *rand.Rand, like []Block) []Block {
	out := slices.Clone(like)
	for range r.IntN(3) + 1 {
		switch {
		case len(out) == 0 || r.IntN(4) == 0:
			at := r.IntN(len(out) + 1)
			out = slices.Insert(out, at, Block{[]core.Role{core.RoleUser, core.RoleAssistant}[r.IntN(2)], r.IntN(2) == 0, randomWords(r)})
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

func snapshotOf(blocks []Block) *Snapshot { return &Snapshot{blocks: blocks} }

// Counted in words, the common prefix is exactly that of the lists of words.
func TestPrefixAgainstBruteForce(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 2))
	var before []Block
	for range 20000 {
		after := randomPrompt(r, before)
		checkPrefix(t, tokens.Words{}, before, after, strings.Fields, 0)
		before = after
		if len(before) > 12 {
			before = nil
		}
	}
}

// Counted in tokens, the common prefix is at most one token longer than that of the ids:
// the last token may extend beyond the common text.
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
	tokenizer, err := tokens.Get("cl100k_base")
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(8, 1))
	var before []Block
	for range 1500 {
		after := randomPrompt(r, before)
		checkPrefix(t, tokenizer, before, after, encode, 1)
		before = after
		if len(before) > 12 {
			before = nil
		}
	}
}

func checkPrefix(t *testing.T, tokenizer core.Tokenizer, before, after []Block, encode func(string) []string, above int) {
	t.Helper()
	got, err := Compare(t.Context(), tokenizer, snapshotOf(before), snapshotOf(after), nil)
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
	same, err := Compare(t.Context(), tokenizer, snapshotOf(after), snapshotOf(after), nil)
	if err != nil || same.BrokenBy != nil || same.CommonTokens != same.Tokens || same.PreviousTokens != same.Tokens {
		t.Fatalf("against itself: %+v, %v", same, err)
	}
}

// looseEnd reports whether the first difference is in a word too long for wholeWords.
func looseEnd(a, b []Block) bool {
	for i := range min(len(a), len(b)) {
		if a[i] == b[i] {
			continue
		}
		at := commonPrefix(a[i].Text, b[i].Text)
		return at > longWord && !strings.ContainsAny(a[i].Text[at-longWord:at], " \n")
	}
	return false
}

func prompt(t testing.TB, text string) *Snapshot {
	t.Helper()
	s, err := NewSnapshot(text, nil)
	if err != nil {
		t.Error(err)
	}
	return s
}

func TestTrackerIsBounded(t *testing.T) {
	tracker := mustTracker(t, Options{Tokenizer: tokens.Words{}, Conversations: 3})
	observe := func(conversation, text string) *Report {
		r, err := tracker.Observe(t.Context(), conversation, prompt(t, text), nil)
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
	small := mustTracker(t, Options{Tokenizer: tokens.Words{}, Bytes: 500})
	for i := range 10 {
		if _, err := small.Observe(t.Context(), fmt.Sprint(i), prompt(t, strings.Repeat("x", 100)), nil); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := small.Observe(t.Context(), "large", prompt(t, strings.Repeat("x", 600)), nil); err != nil || small.Len() != 3 {
		t.Errorf("%d conversations, %v", small.Len(), err)
	}
	for _, o := range []Options{{Conversations: -1}, {Bytes: -1}} {
		if _, err := NewTracker(o); !errors.Is(err, core.ErrInvalid) {
			t.Errorf("%+v: %v", o, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	strict := mustTracker(t, Options{})
	if _, err := strict.Observe(ctx, "x", prompt(t, "text"), nil); !errors.Is(err, context.Canceled) || strict.Len() != 0 {
		t.Errorf("cancelled: %v, %d conversations", err, strict.Len())
	}
}

func TestTrackerConcurrently(t *testing.T) {
	tracker := mustTracker(t, Options{Tokenizer: tokens.Words{}, Conversations: 4})
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			for i := range 200 {
				if _, err := tracker.Observe(context.Background(), fmt.Sprint((g+i)%6), prompt(t, strings.Repeat("w ", i)), nil); err != nil {
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

func ExampleTracker() {
	tracker, err := NewTracker(Options{Tokenizer: tokens.Words{}})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, text := range []string{"be brief, and kind", "be brief, and stern"} {
		prompt, err := NewSnapshot(text, nil)
		if err != nil {
			fmt.Println(err)
			return
		}
		if report, err := tracker.Observe(context.Background(), "conversation-1", prompt, nil); report != nil {
			fmt.Println(report.CommonTokens, "of", report.PreviousTokens, err)
		}
	}
	// Output: 3 of 4 <nil>
}
