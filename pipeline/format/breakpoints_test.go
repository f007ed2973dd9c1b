package format

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/anchor-host/anchor-host/pipeline/core"
	"github.com/anchor-host/anchor-host/pipeline/message"
)

func TestCacheMinimum(t *testing.T) {
	for model, want := range map[string]int{
		"claude-opus-4-5-20251101": 4096, "claude-opus-4.6": 4096, "claude-opus-4-8": 1024, "claude-opus-4-20250514": 1024, "claude-opus-4-1": 1024,
		"claude-opus-5": 512, "claude-sonnet-4-5": 1024, "claude-sonnet-5": 1024, "claude-3-5-haiku-20241022": 2048, "claude-3-haiku-20240307": 2048,
		"claude-haiku-4-5": 4096, "anthropic/claude-3.7-sonnet": 1024, "us.anthropic.claude-haiku-4-5-20251001-v1:0": 4096, "claude-opus-45": 4096,
		"": 4096, "gpt-5": 4096,
	} {
		if got := CacheMinimum(model); got != want {
			t.Errorf("%s: %d, want %d", model, got, want)
		}
	}
}

// cacheWindow has system prompts, context items and turns of so many tokens. Turns
// alternate, beginning with the assistant.
func cacheWindow(system, context, turns []int) *core.Window {
	w := &core.Window{}
	add := func(source core.Source, n, tokens int) {
		it := core.Item{ID: fmt.Sprint(source, n), Content: fmt.Sprint(source, " ", n), Source: source, TokenCount: tokens, Priority: 5,
			CreatedAt: seedEpoch.Add(time.Duration(n) * time.Second), Metadata: map[string]any{"role": []string{"assistant", "user"}[n%2]}}
		if tokens == 0 {
			it.Content = " "
		}
		w.Items = append(w.Items, it)
	}
	for i, n := range system {
		add(core.SourceSystem, i, n)
	}
	for i, n := range context {
		add(core.SourceRetrieval, i, n)
	}
	for i, n := range turns {
		add(core.SourceConversation, i, n)
	}
	return w
}

// marks returns the numbers of the marked blocks, from 0, and how many blocks there are.
func marks(t *testing.T, out any) (marked []int, blocks int) {
	t.Helper()
	data, err := json.Marshal(out)
	if err != nil {
		t.Fatal(err)
	}
	type block struct {
		Cache *CacheControl `json:"cache_control"`
	}
	var doc struct {
		System   []block `json:"system"`
		Messages []struct {
			block
			Content json.RawMessage `json:"content"`
		} `json:"messages"`
	}
	if err := json.Unmarshal(data, &doc); err != nil {
		t.Fatal(err)
	}
	all := doc.System
	for _, m := range doc.Messages {
		var list []block
		if json.Unmarshal(m.Content, &list) != nil {
			list = []block{{}}
		}
		if m.Cache != nil {
			t.Error("a mark beside the role")
		}
		all = append(all, list...)
	}
	marked = []int{}
	for i, b := range all {
		if b.Cache != nil {
			marked = append(marked, i)
		}
	}
	return marked, len(all)
}

func repeat(n, times int) []int { return slices.Repeat([]int{n}, times) }

func TestBreakpoints(t *testing.T) {
	auto := Anthropic{Caching: true, Breakpoints: BreakpointsAuto, Model: "claude-sonnet-4-5"} // 1024
	tests := []struct {
		name                   string
		f                      Anthropic
		system, context, turns []int
		want                   []int
	}{
		{"all long", auto, []int{2000}, []int{500, 600}, []int{10, 10, 10}, []int{0, 1, 4}},
		{"exactly long enough", auto, []int{1024}, nil, nil, []int{0}},
		{"one short", auto, []int{1023}, nil, nil, []int{}},
		{"everything short", auto, []int{10}, []int{10}, []int{10}, []int{}},
		{"system short", auto, []int{500}, []int{600}, []int{10}, []int{1, 2}},
		{"only the whole is long", auto, []int{500}, []int{500}, []int{24}, []int{2}},
		{"two system blocks", auto, []int{800, 300}, nil, nil, []int{1}},
		{"blank last system block", auto, []int{2000, 0}, nil, nil, []int{0}},
		{"blank, and the one before is short", auto, []int{10, 0}, []int{2000}, nil, []int{2}},
		{"no system", auto, nil, []int{2000}, nil, []int{0}},
		{"only turns", auto, nil, nil, []int{2000, 10}, []int{1}},
		{"context is the last block", auto, []int{2000}, []int{10}, nil, []int{0, 1}},
		{"nothing", auto, nil, nil, nil, []int{}},
		{"20 blocks behind the context", auto, []int{2000}, []int{10}, repeat(10, 20), []int{0, 1, 21}},
		{"one more", auto, []int{2000}, []int{10}, repeat(10, 21), []int{0, 1, 2, 22}},
		{"50 turns: one bridge is left", auto, []int{2000}, []int{10}, repeat(10, 50), []int{0, 1, 31, 51}},
		{"50 turns, no context: two bridges", auto, []int{2000}, nil, repeat(10, 50), []int{0, 10, 30, 50}},
		{"bridges that are too short are left out", auto, nil, nil, append(repeat(1, 40), 2000), []int{40}},
		{"tools make it long enough", Anthropic{Caching: true, Breakpoints: BreakpointsAuto, Model: "claude-sonnet-4-5", PrefixTokens: 1020}, []int{4}, nil, nil, []int{0}},
		{"fewer marks", Anthropic{Caching: true, Breakpoints: BreakpointsAuto, MaxBreakpoints: 2}, []int{5000}, []int{10}, []int{10}, []int{0, 1}},
		{"4096 for models that are not known", Anthropic{Caching: true, Breakpoints: BreakpointsAuto}, []int{4000}, []int{95}, []int{1, 1}, []int{3}},
		{"2048", Anthropic{Caching: true, Breakpoints: BreakpointsAuto, Model: "claude-3-5-haiku"}, []int{2047}, []int{1}, nil, []int{1}},
		{"no caching", Anthropic{Breakpoints: BreakpointsAuto}, []int{5000}, []int{10}, nil, []int{}},
		{"default", Anthropic{Caching: true}, []int{1}, []int{1}, []int{1}, []int{0, 1}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			out, err := tt.f.Format(t.Context(), cacheWindow(tt.system, tt.context, tt.turns))
			if err != nil {
				t.Fatal(err)
			}
			if got, n := marks(t, out); !slices.Equal(got, tt.want) {
				t.Errorf("marked %v of %d blocks, want %v", got, n, tt.want)
			}
		})
	}
}

// Marks may be on tool calls and results, which keep their fields.
func TestBreakpointsOnTools(t *testing.T) {
	out := &AnthropicOutput{Messages: []AnthropicMessage{
		{Role: core.RoleAssistant, Content: []any{TextBlock{"text", "t", ephemeral()}, ToolUseBlock{"tool_use", "1", "f", json.RawMessage(`{}`)}}},
		{Role: core.RoleUser, Content: []any{ToolResultBlock{"tool_result", "1", "r"}}},
	}}
	for _, b := range cacheBlocks(out) {
		b.mark()
	}
	got, err := json.Marshal(out.Messages)
	const mark = `"cache_control":{"type":"ephemeral"}`
	want := `[{"role":"assistant","content":[{"type":"text","text":"t",` + mark + `},{"type":"tool_use","id":"1","name":"f","input":{},` + mark + `}]},` +
		`{"role":"user","content":[{"type":"tool_result","tool_use_id":"1","content":"r",` + mark + `}]}]`
	if err != nil || string(got) != want {
		t.Errorf("%s, %v", got, err)
	}
}

// Whatever the window: at most four marks, none on blank text or on a short prefix, and
// the prompt is the same as without marks.
func TestBreakpointRules(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 20))
	some := func(most, tokens int) []int {
		list := make([]int, r.IntN(most+1))
		for i := range list {
			list[i] = r.IntN(tokens)
		}
		return list
	}
	for range 2000 {
		w := cacheWindow(some(3, 1500), some(4, 400), some(60, 60))
		f := Anthropic{Caching: true, Breakpoints: BreakpointsAuto, Model: "claude-sonnet-4-5", MaxBreakpoints: r.IntN(5)}
		out, err := f.Format(t.Context(), w)
		if err != nil {
			t.Fatal(err)
		}
		marked, n := marks(t, out)
		prompt := cacheBlocks(out.(*AnthropicOutput)) // which takes the marks away
		if n != len(prompt) || len(marked) > MaxCacheBreakpoints || f.MaxBreakpoints > 0 && len(marked) > f.MaxBreakpoints {
			t.Fatalf("%d marks on %d blocks", len(marked), n)
		}
		for _, i := range marked {
			tokens := 0
			for j := range w.Items {
				for _, b := range prompt[:i+1] {
					if w.Items[j].TokenCount > 0 && slices.Contains(strings.FieldsFunc(b.text, func(r rune) bool { return r == '\n' }), w.Items[j].Content) {
						tokens += w.Items[j].TokenCount
						break
					}
				}
			}
			if strings.TrimSpace(prompt[i].text) == "" || tokens < 1024 {
				t.Fatalf("block %d of %v is marked: %q, %d tokens", i, marked, prompt[i].text, tokens)
			}
		}
		plain, err := Anthropic{Caching: true}.Format(t.Context(), w)
		if err != nil {
			t.Fatal(err)
		}
		got, want := withoutMarks(t, out), withoutMarks(t, plain)
		if got != want {
			t.Fatalf("%s\nwithout marks\n%s", got, want)
		}
	}
}

// withoutMarks returns the roles and texts of an output, whatever its blocks are.
func withoutMarks(t *testing.T, out any) string {
	t.Helper()
	var b strings.Builder
	if !Texts(out, func(r core.Role) { b.WriteString("\n" + string(r) + ":") }, func(text string) { b.WriteString(text) }, func(*message.Part) {}) {
		t.Fatalf("%T has no texts", out)
	}
	return b.String()
}

func TestBreakpointsAreChecked(t *testing.T) {
	for _, f := range []Anthropic{
		{Breakpoints: "many"}, {PrefixTokens: -1}, {MaxBreakpoints: 5}, {MaxBreakpoints: -1},
	} {
		if err := f.Validate(); !errors.Is(err, core.ErrInvalid) {
			t.Errorf("%+v: %v", f, err)
		}
	}
}
