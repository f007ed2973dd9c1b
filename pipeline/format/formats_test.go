package format

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/anchor-host/anchor-host/pipeline/core"
	"github.com/anchor-host/anchor-host/pipeline/message"
)

// Each built-in formatter writes every text of a window once, and tells what an exact fit has to know of its output.
func TestEachFormatWritesTheWindow(t *testing.T) {
	if len(All()) != len(Names()) || len(All()) < 5 {
		t.Fatalf("the formats are %q", Names())
	}
	names := Names()
	w := core.Window{MaxTokens: 100, Fixed: core.Fixed{Query: "asked", Tools: json.RawMessage(`[{"name":"tool-x"}]`)},
		Items: []core.Item{system("ruled"), doc("found"), doc("read"), turn("said", "user", 1), turn("answered", "assistant", 2)}}
	for _, f := range All() {
		name := f.FormatType()
		if made := New(name, Options{}); made != f {
			t.Errorf("%s: made by its name is %#v, want %#v", name, made, f)
		}
		output, err := f.Format(t.Context(), &w)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if of, ok := output.(core.Formatted); ok {
			output = of.Output
		}
		data, err := json.Marshal(output)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for _, want := range []string{"ruled", "found", "read", "said", "answered", "asked"} {
			if n := strings.Count(string(data), want); n != 1 {
				t.Errorf("%s: %q is %d times in %s", name, want, n, data)
			}
		}
		if text, separator, _ := ContextEnd(f, output, &w); !strings.HasSuffix(text, "read") || separator == "" {
			t.Errorf("%s: the context ends with %q, and %q before the next item", name, text, separator)
		}
		if !WritesWhole(f) {
			t.Errorf("%s: is estimated as a formatter of others", name)
		}
		counted := ""
		if Texts(output, func(core.Role) {}, func(s string) { counted += s + "|" }, func(*message.Part) {}) {
			for _, want := range []string{"ruled", "found", "read", "said", "answered", "asked"} {
				if !strings.Contains(counted, want) {
					t.Errorf("%s: %q is not counted: %s", name, want, counted)
				}
			}
			if !strings.Contains(string(ToolsOf(output)), "tool-x") || Started(output) {
				t.Errorf("%s: has the tools %s, began by itself: %t", name, ToolsOf(output), Started(output))
			}
		} else if _, ok := output.(string); !ok {
			t.Errorf("%s: the texts of %T are not counted", name, output)
		}
	}
	if slices.Sort(names); len(slices.Compact(names)) != len(All()) {
		t.Errorf("a name is there twice: %q", Names())
	}
	if New("none", Options{}) != nil || New("", Options{}) != (Generic{}) {
		t.Error("a name that is none, or the empty one")
	}
}

// What embeds a formatter or an output may write something else.
func TestWhatEmbedsABuiltInIsNotOne(t *testing.T) {
	type mine struct{ OpenAI }
	type output struct{ *OpenAIOutput }
	if WritesWhole(mine{}) || WritesWhole(&mine{}) || WritesWhole(nil) || !WritesWhole(&OpenAI{}) {
		t.Error("WritesWhole takes a formatter for another one")
	}
	o := output{&OpenAIOutput{Messages: []any{OpenAIMessage{Content: "c"}}, Tools: json.RawMessage(`[]`)}}
	if Texts(o, nil, nil, nil) || Texts(&o, nil, nil, nil) || ToolsOf(o) != nil {
		t.Error("an output that embeds one is counted like it")
	}
	if ToolsOf(o.OpenAIOutput) == nil {
		t.Error("the output itself is not counted")
	}
}
