package pipeline

import (
	"encoding/json"
	"errors"
	"testing"
	"time"
)

func formatted(t *testing.T, f Formatter, items ...Item) string {
	t.Helper()
	output, err := f.Format(t.Context(), &Window{Items: items, MaxTokens: 100})
	if err != nil {
		t.Fatal(err)
	}
	data, err := json.Marshal(output)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func turn(content string, role any, second int) Item {
	return Item{Content: content, Source: SourceConversation, Priority: 7, CreatedAt: seedEpoch.Add(time.Duration(second) * time.Second), Metadata: map[string]any{"role": role}}
}

func system(content string) Item { return Item{Content: content, Source: SourceSystem, Priority: 10} }

func TestAnthropicCacheMarksAreOnBlocks(t *testing.T) {
	const mark = `"cache_control":{"type":"ephemeral"}`
	for name, tc := range map[string]struct {
		items []Item
		want  string
	}{
		"empty": {nil, `{"system":[],"messages":[]}`},
		"context and a user turn share a message, not a block": {
			[]Item{system("S"), doc("d"), turn("hi", "user", 1), turn("again", "user", 2)},
			`{"system":[{"type":"text","text":"S",` + mark + `}],"messages":[{"role":"user","content":[` +
				`{"type":"text","text":"Here is relevant context:\n\nd",` + mark + `},{"type":"text","text":"hi\n\nagain"}]}]}`,
		},
		"context alone": {
			[]Item{doc("d"), turn("yo", "assistant", 1)},
			`{"system":[],"messages":[{"role":"user","content":[{"type":"text","text":"Here is relevant context:\n\nd",` + mark + `}]},{"role":"assistant","content":"yo"}]}`,
		},
		"turns have no marks": {[]Item{turn("hi", "user", 1)}, `{"system":[],"messages":[{"role":"user","content":"hi"}]}`},
		"a blank system block cannot have one": {
			[]Item{system("S"), system(" ")},
			`{"system":[{"type":"text","text":"S",` + mark + `},{"type":"text","text":" "}],"messages":[]}`,
		},
		"nothing to mark": {[]Item{system("")}, `{"system":[{"type":"text","text":""}],"messages":[]}`},
	} {
		if got := formatted(t, Anthropic{Caching: true}, tc.items...); got != tc.want {
			t.Errorf("%s\n%s\nwant\n%s", name, got, tc.want)
		}
	}
	if _, err := (Anthropic{CacheControl: "top"}).Format(t.Context(), &Window{}); !errors.Is(err, ErrInvalid) {
		t.Errorf("unknown cache_control: %v", err)
	}
}

func TestSequenceOrdersTurnsOfOneTime(t *testing.T) {
	second, first := turn("second", "assistant", 5), turn("first", "user", 5)
	second.Sequence, first.Sequence = 2, 1
	if got, want := formatted(t, OpenAI{}, second, first), `{"messages":[{"role":"user","content":"first"},{"role":"assistant","content":"second"}]}`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestRoleOf(t *testing.T) {
	for _, tc := range []struct {
		source Source
		role   any
		want   Role
	}{
		{SourceSystem, "system", RoleSystem}, {SourceSystem, "tool", RoleTool}, {SourceSystem, "assistant", RoleAssistant}, {SourceSystem, nil, RoleUser},
		{SourceTool, "tool", RoleTool}, {SourceTool, "system", RoleUser}, {SourceTool, "assistant", RoleAssistant},
		{SourceConversation, "assistant", RoleAssistant}, {SourceConversation, "tool", RoleUser}, {SourceConversation, "system", RoleUser},
		{SourceMemory, "user", RoleUser}, {SourceMemory, RoleAssistant, RoleAssistant}, {SourceMemory, int64(3), RoleUser}, {SourceRetrieval, "system", RoleUser},
		{SourceMemory, "ASSISTANT", RoleUser},
	} {
		it := Item{Source: tc.source, Metadata: map[string]any{"role": tc.role}}
		if got := roleOf(&it); got != tc.want {
			t.Errorf("role %v from %s: %s, want %s", tc.role, tc.source, got, tc.want)
		}
	}
	if got := roleOf(&Item{Source: SourceSystem}); got != RoleUser {
		t.Errorf("role of an item that states none: %s", got)
	}
}

func TestGenericTrimsTheWhole(t *testing.T) {
	if got, want := formatted(t, Generic{}, system("a "), doc(" b \n\n")), `"=== SYSTEM ===\na \n\n=== CONTEXT ===\n b"`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
