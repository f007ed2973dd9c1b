package steps

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/pipeline"
)

// A guest that reads JSON and writes it anew orders keys and writes numbers in its own way.
// What it hands back is still the message it was sent, with all that it has not seen.
func TestMessagesWrittenAnewAreRecognised(t *testing.T) {
	sent := pipeline.Message{Role: pipeline.RoleAssistant, Parts: json.RawMessage(
		`[{"type":"thinking","signature":"x"},{"type":"tool_use","id":"t1","name":"f","input":{"q":"a<b","n":1.50,"list":[]}}]`)}
	plain := pipeline.Message{Role: pipeline.RoleAssistant, Content: "so", Parts: nil, Rest: json.RawMessage(`{"refusal":null}`)}
	for calls, same := range map[string]bool{
		`[{"type":"tool_use","id":"t1","name":"f","input":{"q":"a<b","n":1.50,"list":[]}}]`:                        true,
		`[ {"id":"t1","input":{"list":[],"n":1.5,"q":"a\u003cb"},"name":"f","type":"tool_use"} ]`:                  true,
		`[{"type":"tool_use","id":"t1","name":"f","input":{"q":"a<c","n":1.50,"list":[]}}]`:                        false,
		`[{"type":"tool_use","id":"t1","name":"f","input":{"q":"a<b","n":1.50}}]`:                                  false,
		`[{"type":"tool_use","id":"t1","name":"f","input":{"q":"a<b","n":1.50,"list":[]}},{"id":"t2","name":"g"}]`: false,
	} {
		in := abi.Message{Role: "assistant", ToolCalls: json.RawMessage(calls)}
		out := pipelineMessages([]abi.Message{in}, []pipeline.Message{sent})
		if out[0].Equal(&sent) != same {
			t.Errorf("%s: became %s, %s", calls, out[0].Parts, out[0].ToolCalls)
		}
	}
	for _, none := range []string{"", "null", "[]"} {
		in := abi.Message{Role: "assistant", Content: "so", ToolCalls: json.RawMessage(none)}
		if out := pipelineMessages([]abi.Message{in}, []pipeline.Message{plain}); !out[0].Equal(&plain) {
			t.Errorf("calls %q: became %+v", none, out[0])
		}
		in.Content = "new"
		if out := pipelineMessages([]abi.Message{in}, nil); out[0].Validate() != nil {
			t.Errorf("calls %q: %v", none, out[0].Validate())
		}
	}
}

// Messages that look the same to a guest are told apart by their order: who drops the first of
// two images keeps the second.
func TestMessagesThatLookTheSame(t *testing.T) {
	image := func(data string) pipeline.Message {
		return pipeline.Message{Role: pipeline.RoleUser, Parts: json.RawMessage(`[{"type":"image","source":{"data":"` + data + `"}}]`)}
	}
	text := func(s string) pipeline.Message { return pipeline.Message{Role: pipeline.RoleAssistant, Content: s} }
	sent := []pipeline.Message{image("A"), text("cat"), image("B"), text("dog"), text("cat")}
	shown := abiMessages(sent)
	note := abi.Message{Role: "user", Content: "note"}
	for name, c := range map[string]struct {
		in   []abi.Message
		want []int
	}{
		"all":          {shown, []int{0, 1, 2, 3, 4}},
		"the end":      {shown[2:], []int{2, 3, 4}},
		"the begin":    {shown[:2], []int{0, 1}},
		"one left out": {append(append([]abi.Message{}, shown[:2]...), shown[3:]...), []int{0, 1, 3, 4}},
		"a note":       {append([]abi.Message{note}, shown[2:]...), []int{-1, 2, 3, 4}},
		"moved":        {[]abi.Message{shown[3], shown[2]}, []int{3, 2}},
		"once more":    {append(append([]abi.Message{}, shown...), shown[3]), []int{0, 1, 2, 3, 4, -1}},
	} {
		if got := handedBack(c.in, shown); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
	if back := pipelineMessages(shown[2:], sent); string(back[0].Parts) != string(sent[2].Parts) {
		t.Errorf("the second image became %s", back[0].Parts)
	}
}
