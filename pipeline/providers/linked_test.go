package providers

import (
	"strings"
	"testing"

	"github.com/anchor-host/anchor-host/pipeline/agent"
	"github.com/anchor-host/anchor-host/pipeline/message"
)

// linked are histories whose messages name each other. The texts of one list stay together.
var linked = map[string]struct {
	history  string
	together [][]string
}{
	"responses": {`[{"role":"user","content":"first question of the user"},
		{"type":"reasoning","id":"rs_1","summary":[]},{"type":"web_search_call","id":"ws_1","status":"completed","action":{"type":"search","query":"one two three"}},
		{"type":"message","id":"msg_1","role":"assistant","status":"completed","content":[{"type":"output_text","text":"I look it up","annotations":[]}]},
		{"type":"function_call","id":"fc_1","call_id":"a","name":"f","arguments":"{}"},{"type":"function_call_output","call_id":"a","output":"one two three four five"},
		{"type":"program","id":"prog_1","call_id":"p","code":"f()","fingerprint":"x"},{"type":"function_call","call_id":"b","name":"f","arguments":"{}","caller":{"type":"program","caller_id":"p"}},
		{"type":"function_call_output","call_id":"b","output":"six seven"},{"type":"program_output","id":"po_1","call_id":"p","result":"eight nine","status":"completed"},
		{"role":"assistant","content":"an answer of some words"},{"role":"user","content":"second question"},
		{"type":"item_reference","id":"fc_9"},{"type":"function_call_output","call_id":"c9","output":"ten eleven twelve"},{"role":"assistant","content":"so"},{"role":"user","content":"third question"},
		{"type":"mcp_approval_request","id":"mcpr_1","name":"f","server_label":"s","arguments":"{\"a\":\"one two three four\"}"},{"type":"mcp_approval_response","approval_request_id":"mcpr_1","approve":true}]`,
		[][]string{{"rs_1", "ws_1", "msg_1", "fc_1", `"output":"one two`}, {"prog_1", "caller", `"output":"six seven"`, "po_1"}, {"fc_9", "c9"}, {`"id":"mcpr_1"`, `"approval_request_id":"mcpr_1"`}}},
	"anthropic": {`[{"role":"user","content":"first question of the user"},
		{"role":"assistant","content":[{"type":"server_tool_use","id":"srv_1","name":"code_execution","input":{}},{"type":"tool_use","id":"a","name":"f","input":{},"caller":{"type":"code_execution_20250825","tool_id":"srv_1"}}]},
		{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":"one two three"}]},
		{"role":"assistant","content":[{"type":"code_execution_tool_result","tool_use_id":"srv_1","content":{"type":"code_execution_result","stdout":"four five","stderr":"","return_code":0,"content":[]}},{"type":"text","text":"so"}]},
		{"role":"user","content":"second question"},{"role":"assistant","content":"an answer"},{"role":"user","content":"third"}]`,
		[][]string{{"server_tool_use", `"tool_use"`, "tool_result", "code_execution_tool_result"}}},
	"chat": {`[{"role":"user","content":"first question of the user"},{"role":"assistant","content":null,"function_call":{"name":"f","arguments":"{\"a\":\"one two three\"}"}},
		{"role":"function","name":"f","content":"four five six seven"},{"role":"assistant","content":"so"},{"role":"user","content":"second"}]`, [][]string{{`"function_call":`, `"role":"function"`}}},
}

// Messages that name each other stay or leave together, whatever the budget is.
func TestLinkedMessagesStayTogether(t *testing.T) {
	for name, c := range linked {
		list, err := message.DecodeList([]byte(c.history))
		if err != nil {
			t.Fatal(err)
		}
		cut, whole := truncation(t, TruncationConfig{}), chain(t, Config{Enforce: true})
		for most := 1; most <= 120; most++ {
			for _, b := range []agent.Budget{{MaxTokens: most}, {MaxMessages: most}} {
				a, err := whole.Assemble(t.Context(), &agent.State{}, list, b)
				if err != nil {
					t.Fatal(err)
				}
				left := apply(t, cut, &agent.State{}, list, b)
				if left == nil {
					left = list
				}
				for _, messages := range [][]message.Message{left, a.Messages} {
					out, err := message.AppendList(nil, messages, message.FormAny)
					if err != nil {
						t.Fatal(err)
					}
					for _, texts := range c.together {
						n := 0
						for _, text := range texts {
							if strings.Contains(string(out), text) {
								n++
							}
						}
						if n != 0 && n != len(texts) {
							t.Fatalf("%s, %+v: %d of %q\n%s", name, b, n, texts, out)
						}
					}
					if name == "responses" && !strings.Contains(string(out), `"approve":true`) {
						t.Fatalf("%+v: the approval that was just given is missing\n%s", b, out)
					}
				}
			}
		}
	}
}
