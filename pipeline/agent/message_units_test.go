package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/pipeline/core"
)

func TestMessageUnits(t *testing.T) {
	user, system, answer := pipeline.Message{Role: pipeline.RoleUser}, pipeline.Message{Role: pipeline.RoleSystem}, pipeline.Message{Role: pipeline.RoleAssistant}
	call := func(raw string) pipeline.Message {
		return pipeline.Message{Role: pipeline.RoleAssistant, ToolCalls: json.RawMessage(raw)}
	}
	result := func(id string) pipeline.Message { return pipeline.Message{Role: pipeline.RoleTool, ToolCallID: id} }
	use := func(id string) pipeline.Message {
		return pipeline.Message{Role: pipeline.RoleAssistant, Parts: json.RawMessage(`[{"type":"text","text":"so"},{"type":"tool_use","id":"` + id + `","name":"f","input":{}}]`)}
	}
	answers := func(id string) pipeline.Message {
		return pipeline.Message{Role: pipeline.RoleUser, Parts: json.RawMessage(`[{"type":"tool_result","tool_use_id":"` + id + `","content":"x"},{"type":"text","text":"go on"}]`)}
	}
	both := func(a, b string) pipeline.Message {
		return pipeline.Message{Role: pipeline.RoleUser, Parts: json.RawMessage(`[{"type":"tool_result","tool_use_id":"` + a + `"},{"type":"tool_result","tool_use_id":"` + b + `"}]`)}
	}
	for name, c := range map[string]struct {
		messages []pipeline.Message
		want     []int
	}{
		"parts":           {[]pipeline.Message{user, use("a"), answers("a"), use("b"), answers("b"), answers("c")}, []int{0, 1, 1, 3, 3, 5}},
		"several calls":   {[]pipeline.Message{use("a"), use("b"), user, use("c"), answers("b"), both("c", "a"), both("c", "b")}, []int{0, 0, 2, 0, 0, 0, 0}},
		"two of three":    {[]pipeline.Message{use("a"), use("b"), use("c"), both("c", "b"), answers("a")}, []int{0, 1, 1, 1, 0}},
		"none":            {nil, []int{}},
		"single":          {[]pipeline.Message{system, user, answer}, []int{0, 1, 2}},
		"pair":            {[]pipeline.Message{user, call(`[{"id":"a"}]`), result("a"), answer}, []int{0, 1, 1, 3}},
		"two results":     {[]pipeline.Message{call(`[{"id":"a"},{"id":"b"}]`), result("b"), result("a")}, []int{0, 0, 0}},
		"apart":           {[]pipeline.Message{call(`[{"id":"a"}]`), user, answer, result("a")}, []int{0, 1, 2, 0}},
		"interleaved":     {[]pipeline.Message{call(`[{"id":"a"}]`), call(`[{"id":"b"}]`), result("a"), result("b")}, []int{0, 1, 0, 1}},
		"id used again":   {[]pipeline.Message{call(`[{"id":"a"}]`), result("a"), call(`[{"id":"a"}]`), result("a")}, []int{0, 0, 2, 2}},
		"without a call":  {[]pipeline.Message{result("a"), call(`[{"id":"b"}]`), result("a")}, []int{0, 1, 2}},
		"before its call": {[]pipeline.Message{result("a"), call(`[{"id":"a"}]`)}, []int{0, 1}},
		"no id":           {[]pipeline.Message{result(""), call(`[{"id":"a"}]`), result(""), system, result(""), user, result("")}, []int{0, 1, 1, 3, 1, 5, 6}},
		"unreadable ids":  {[]pipeline.Message{call(`["a"]`), result("a"), answer, result("a")}, []int{0, 0, 2, 3}},
		"calls of a user": {[]pipeline.Message{{Role: pipeline.RoleUser, ToolCalls: json.RawMessage(`[{"id":"a"}]`)}, result("a")}, []int{0, 1}},
	} {
		if got := Units(c.messages); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

// countingTokenizer counts the texts that it receives.
type countingTokenizer struct {
	pipeline.Tokenizer
	asked *int
}

func (c countingTokenizer) Count(ctx context.Context, texts ...string) ([]int, error) {
	*c.asked += len(texts)
	return c.Tokenizer.Count(ctx, texts...)
}

func TestMessageCounter(t *testing.T) {
	asked := 0
	c, err := NewCounter(CounterConfig{Tokenizer: countingTokenizer{pipeline.WordTokenizer(), &asked}})
	if err != nil {
		t.Fatal(err)
	}
	messages := []pipeline.Message{
		{Role: pipeline.RoleUser, Content: "one two"},
		{Role: pipeline.RoleAssistant, ToolCalls: json.RawMessage(`[{"id": "a"}]`)},
		{Role: pipeline.RoleTool, Content: "one two", Name: "tool", ToolCallID: "a"},
		{Role: pipeline.RoleAssistant},
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
	picture := pipeline.Message{Role: pipeline.RoleUser, Parts: json.RawMessage(`[{"type":"text","text":"one two"},{"type":"image","source":{"data":"` + strings.Repeat("A ", 5000) + `"}}]`)}
	if n, err := c.Total(t.Context(), []pipeline.Message{picture}); n != 3+2+core.MediaTokens || err != nil {
		t.Errorf("a text with an image has %d tokens, %v", n, err)
	}
	if asked != 5 {
		t.Errorf("%d texts counted, want 5: each once, and again only what is in the list twice the first time", asked)
	}
}

func TestMessageCounterForgets(t *testing.T) {
	asked := 0
	c, err := NewCounter(CounterConfig{Tokenizer: countingTokenizer{pipeline.WordTokenizer(), &asked}, Overhead: -1})
	if err != nil {
		t.Fatal(err)
	}
	hot := userMessages("hot")
	for i := range 3 * countedTexts {
		for _, m := range [][]pipeline.Message{hot, userMessages(fmt.Sprint("text ", i))} {
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
	if _, err := NewCounter(CounterConfig{Overhead: -2}); err == nil ||
		err.Error() != "message counter: overhead -2: invalid value (want 0 or more, or -1 for none)" {
		t.Error(err)
	}
}
