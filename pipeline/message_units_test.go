package pipeline

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
)

func TestMessageUnits(t *testing.T) {
	user, system, answer := Message{Role: RoleUser}, Message{Role: RoleSystem}, Message{Role: RoleAssistant}
	call := func(raw string) Message { return Message{Role: RoleAssistant, ToolCalls: json.RawMessage(raw)} }
	result := func(id string) Message { return Message{Role: RoleTool, ToolCallID: id} }
	use := func(id string) Message {
		return Message{Role: RoleAssistant, Parts: json.RawMessage(`[{"type":"text","text":"so"},{"type":"tool_use","id":"` + id + `","name":"f","input":{}}]`)}
	}
	answers := func(id string) Message {
		return Message{Role: RoleUser, Parts: json.RawMessage(`[{"type":"tool_result","tool_use_id":"` + id + `","content":"x"},{"type":"text","text":"go on"}]`)}
	}
	for name, c := range map[string]struct {
		messages []Message
		want     []int
	}{
		"parts":           {[]Message{user, use("a"), answers("a"), use("b"), answers("b"), answers("c")}, []int{0, 1, 1, 3, 3, 5}},
		"none":            {nil, []int{}},
		"single":          {[]Message{system, user, answer}, []int{0, 1, 2}},
		"pair":            {[]Message{user, call(`[{"id":"a"}]`), result("a"), answer}, []int{0, 1, 1, 3}},
		"two results":     {[]Message{call(`[{"id":"a"},{"id":"b"}]`), result("b"), result("a")}, []int{0, 0, 0}},
		"apart":           {[]Message{call(`[{"id":"a"}]`), user, answer, result("a")}, []int{0, 1, 2, 0}},
		"interleaved":     {[]Message{call(`[{"id":"a"}]`), call(`[{"id":"b"}]`), result("a"), result("b")}, []int{0, 1, 0, 1}},
		"id used again":   {[]Message{call(`[{"id":"a"}]`), result("a"), call(`[{"id":"a"}]`), result("a")}, []int{0, 0, 2, 2}},
		"without a call":  {[]Message{result("a"), call(`[{"id":"b"}]`), result("a")}, []int{0, 1, 2}},
		"before its call": {[]Message{result("a"), call(`[{"id":"a"}]`)}, []int{0, 1}},
		"no id":           {[]Message{result(""), call(`[{"id":"a"}]`), result(""), system, result(""), user, result("")}, []int{0, 1, 1, 3, 1, 5, 6}},
		"unreadable ids":  {[]Message{call(`["a"]`), result("a"), answer, result("a")}, []int{0, 0, 2, 3}},
		"calls of a user": {[]Message{{Role: RoleUser, ToolCalls: json.RawMessage(`[{"id":"a"}]`)}, result("a")}, []int{0, 1}},
	} {
		if got := MessageUnits(c.messages); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

// countingTokenizer notes how many texts it was asked for.
type countingTokenizer struct {
	Tokenizer
	asked *int
}

func (c countingTokenizer) Count(ctx context.Context, texts ...string) ([]int, error) {
	*c.asked += len(texts)
	return c.Tokenizer.Count(ctx, texts...)
}

func TestMessageCounter(t *testing.T) {
	asked := 0
	c, err := NewMessageCounter(MessageCounterConfig{Tokenizer: countingTokenizer{WordTokenizer(), &asked}})
	if err != nil {
		t.Fatal(err)
	}
	messages := []Message{
		{Role: RoleUser, Content: "one two"},
		{Role: RoleAssistant, ToolCalls: json.RawMessage(`[{"id": "a"}]`)},
		{Role: RoleTool, Content: "one two", Name: "tool", ToolCallID: "a"},
		{Role: RoleAssistant},
	}
	for range 2 {
		counts, err := c.Count(t.Context(), messages)
		if err != nil || !slices.Equal(counts, []int{5, 5, 7, 3}) {
			t.Errorf("counts %v, %v", counts, err)
		}
	}
	if n, err := c.Total(t.Context(), messages[:2]); n != 10 || err != nil || c.Tokenizer().Name() != "words" {
		t.Errorf("total %d in %s, %v", n, c.Tokenizer().Name(), err)
	}
	picture := Message{Role: RoleUser, Parts: json.RawMessage(`[{"type":"text","text":"one two"},{"type":"image","source":{"data":"` + strings.Repeat("A ", 5000) + `"}}]`)}
	if n, err := c.Total(t.Context(), []Message{picture}); n != 3+2+MediaTokens || err != nil {
		t.Errorf("a text with an image has %d tokens, %v", n, err)
	}
	if asked != 5 {
		t.Errorf("%d texts counted, want 5: each once, and again only what is in the list twice the first time", asked)
	}
}

func TestMessageCounterForgets(t *testing.T) {
	asked := 0
	c, err := NewMessageCounter(MessageCounterConfig{Tokenizer: countingTokenizer{WordTokenizer(), &asked}, Overhead: -1})
	if err != nil {
		t.Fatal(err)
	}
	hot := userMessages("hot")
	for i := range 3 * countedTexts {
		for _, m := range [][]Message{hot, userMessages(fmt.Sprint("text ", i))} {
			if _, err := c.Total(t.Context(), m); err != nil {
				t.Fatal(err)
			}
		}
		if n := len(c.young) + len(c.old); n > 2*countedTexts {
			t.Fatalf("%d counts kept", n)
		}
	}
	if want := 3*countedTexts + 1; asked != want {
		t.Errorf("%d texts counted, want %d: what is in use is not forgotten", asked, want)
	}
	if _, err := c.Total(t.Context(), userMessages("text 0")); err != nil || asked != 3*countedTexts+2 {
		t.Errorf("%d texts counted, %v: the oldest is forgotten", asked, err)
	}
}

func TestMessageCounterRefuses(t *testing.T) {
	if _, err := NewMessageCounter(MessageCounterConfig{Overhead: -2}); err == nil ||
		err.Error() != "message counter: overhead -2: invalid value (want 0 or more, or -1 for none)" {
		t.Error(err)
	}
}
