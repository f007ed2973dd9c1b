package format

import (
	"encoding/json"
	"testing"

	"github.com/anchor-host/anchor-host/pipeline/core"
)

// Marks are on prefixes that the model caches. The tools are the beginning of the prefix.
func TestToolsCountForCacheMarks(t *testing.T) {
	long := core.Item{Content: "be brief", Source: core.SourceSystem, Priority: 10, TokenCount: 30}
	f := Anthropic{Caching: true, Breakpoints: BreakpointsAuto, Params: Params{Model: "claude-sonnet-4-5"}}
	for tools, marked := range map[int]bool{0: false, 900: false, 994: true} {
		w := &core.Window{Items: []core.Item{long}, Fixed: core.Fixed{Query: "q", Tools: json.RawMessage("[]"), ToolTokens: tools}}
		output, err := f.Format(t.Context(), w)
		if err != nil {
			t.Fatal(err)
		}
		if got := output.(*AnthropicOutput).System[0].CacheControl != nil; got != marked {
			t.Errorf("%d tokens of tools: marked %v", tools, got)
		}
	}
}

// A body has what the API demands, and the tools byte for byte.
func TestBodies(t *testing.T) {
	w := &core.Window{Items: []core.Item{system("S"), system(" "), turn("hello", "assistant", 1), turn(" ", "user", 2)}, Fixed: core.Fixed{Query: "why <x>?", Tools: json.RawMessage(`[{"b":  1.0}]`)}}
	for want, f := range map[string]core.Formatter{
		`{"model":"m","max_tokens":4096,"tools":[{"b":  1.0}],"system":[{"type":"text","text":"S"}],"messages":[{"role":"user","content":"(The conversation begins.)"},{"role":"assistant","content":"hello"},{"role":"user","content":"why <x>?"}]}`:                                               Anthropic{Params: Params{Model: "m"}},
		`{"model":"m","messages":[{"role":"system","content":"S\n\n "},{"role":"assistant","content":"hello"},{"role":"user","content":"why <x>?"}],"tools":[{"b":  1.0}],"max_completion_tokens":9}`:                                                                                               OpenAI{Params{"m", 9}},
		`{"model":"m","instructions":"S\n\n ","input":[{"role":"assistant","content":"hello"},{"role":"user","content":"why <x>?"}],"tools":[{"b":  1.0}],"max_output_tokens":9}`:                                                                                                                   Responses{Params{"m", 9}},
		`{"systemInstruction":{"parts":[{"text":"S\n\n "}]},"contents":[{"role":"user","parts":[{"text":"(The conversation begins.)"}]},{"role":"model","parts":[{"text":"hello"}]},{"role":"user","parts":[{"text":"why <x>?"}]}],"tools":[{"b":  1.0}],"generationConfig":{"maxOutputTokens":9}}`: Gemini{Params{"m", 9}},
	} {
		output, err := f.Format(t.Context(), w)
		if err != nil {
			t.Fatal(err)
		}
		got, err := output.(Body).Append(nil, "")
		if err != nil || string(got) != want {
			t.Errorf("%s: %v\n%s\nwant\n%s", f.FormatType(), err, got, want)
		}
		indented, err := output.(Body).Append(nil, "  ")
		if err != nil || !json.Valid(indented) {
			t.Errorf("%s: %v\n%s", f.FormatType(), err, indented)
		}
	}
}
