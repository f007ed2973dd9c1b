package format

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/anchor-host/anchor-host/pipeline/core"
)

var seedEpoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// formatter is the same interface as pipeline.Formatter.
type formatter interface {
	FormatType() string
	Format(ctx context.Context, w *core.Window) (any, error)
}

func doc(id string) core.Item {
	return core.Item{ID: id, Content: id, Source: core.SourceRetrieval, Score: 0.5, Priority: 5, TokenCount: 1, CreatedAt: seedEpoch}
}

func formatted(t *testing.T, f formatter, items ...core.Item) string {
	t.Helper()
	output, err := f.Format(t.Context(), &core.Window{Items: items, MaxTokens: 100})
	if err != nil {
		t.Fatal(err)
	}
	data, err := json.Marshal(output)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func turn(content string, role any, second int) core.Item {
	return core.Item{Content: content, Source: core.SourceConversation, Priority: 7, CreatedAt: seedEpoch.Add(time.Duration(second) * time.Second), Metadata: map[string]any{"role": role}}
}

func system(content string) core.Item {
	return core.Item{Content: content, Source: core.SourceSystem, Priority: 10}
}

func TestAnthropicCacheMarksAreOnBlocks(t *testing.T) {
	const mark = `"cache_control":{"type":"ephemeral"}`
	for name, tc := range map[string]struct {
		items []core.Item
		want  string
	}{
		"empty": {nil, `{"system":[],"messages":[]}`},
		"context and a user turn share a message, not a block": {
			[]core.Item{system("S"), doc("d"), turn("hi", "user", 1), turn("again", "user", 2)},
			`{"system":[{"type":"text","text":"S",` + mark + `}],"messages":[{"role":"user","content":[` +
				`{"type":"text","text":"Here is relevant context:\n\nd",` + mark + `},{"type":"text","text":"hi\n\nagain"}]}]}`,
		},
		"context alone": {
			[]core.Item{doc("d"), turn("yo", "assistant", 1)},
			`{"system":[],"messages":[{"role":"user","content":[{"type":"text","text":"Here is relevant context:\n\nd",` + mark + `}]},{"role":"assistant","content":"yo"}]}`,
		},
		"turns have no marks": {[]core.Item{turn("hi", "user", 1)}, `{"system":[],"messages":[{"role":"user","content":"hi"}]}`},
		"a blank system block cannot have one": {
			[]core.Item{system("S"), system(" ")},
			`{"system":[{"type":"text","text":"S",` + mark + `},{"type":"text","text":" "}],"messages":[]}`,
		},
		"nothing to mark": {[]core.Item{system("")}, `{"system":[{"type":"text","text":""}],"messages":[]}`},
	} {
		if got := formatted(t, Anthropic{Caching: true}, tc.items...); got != tc.want {
			t.Errorf("%s\n%s\nwant\n%s", name, got, tc.want)
		}
	}
	if _, err := (Anthropic{Breakpoints: "top"}).Format(t.Context(), &core.Window{}); !errors.Is(err, core.ErrInvalid) {
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
		source core.Source
		role   any
		want   core.Role
	}{
		{core.SourceSystem, "system", core.RoleSystem}, {core.SourceSystem, "tool", core.RoleTool}, {core.SourceSystem, "assistant", core.RoleAssistant}, {core.SourceSystem, nil, core.RoleUser},
		{core.SourceTool, "tool", core.RoleTool}, {core.SourceTool, "system", core.RoleUser}, {core.SourceTool, "assistant", core.RoleAssistant},
		{core.SourceConversation, "assistant", core.RoleAssistant}, {core.SourceConversation, "tool", core.RoleUser}, {core.SourceConversation, "system", core.RoleUser},
		{core.SourceMemory, "user", core.RoleUser}, {core.SourceMemory, core.RoleAssistant, core.RoleAssistant}, {core.SourceMemory, int64(3), core.RoleUser}, {core.SourceRetrieval, "system", core.RoleUser},
		{core.SourceMemory, "ASSISTANT", core.RoleUser},
	} {
		it := core.Item{Source: tc.source, Metadata: map[string]any{"role": tc.role}}
		if got := roleOf(&it); got != tc.want {
			t.Errorf("role %v from %s: %s, want %s", tc.role, tc.source, got, tc.want)
		}
	}
	if got := roleOf(&core.Item{Source: core.SourceSystem}); got != core.RoleUser {
		t.Errorf("role of an item that states none: %s", got)
	}
}

func TestGenericTrimsTheWhole(t *testing.T) {
	if got, want := formatted(t, Generic{}, system("a "), doc(" b \n\n")), `"=== SYSTEM ===\na \n\n=== CONTEXT ===\n b"`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// upper is a formatter of the embedder: it embeds a built-in one, and writes something else.
type upper struct{ Generic }

// What follows the context is only known of the formatters of this package.
func TestContextEndIsOfTheFormatter(t *testing.T) {
	w := &core.Window{Items: []core.Item{doc("d")}}
	if text, separator, _ := ContextEnd(Generic{}, "=== CONTEXT ===\nd", w); text == "" || separator != "\n" {
		t.Errorf("generic: text %q, separator %q", text, separator)
	}
	if text, separator, _ := ContextEnd(upper{}, "=== CONTEXT ===\nd", w); text != "" || separator != "" {
		t.Errorf("another formatter: text %q, separator %q", text, separator)
	}
}
