package steps

import (
	"encoding/json"
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
