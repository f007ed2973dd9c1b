package agent

import (
	"slices"
	"testing"
)

// TestLinkedUnits has items and blocks that name each other by other members than calls and results.
func TestLinkedUnits(t *testing.T) {
	const (
		user      = `{"role":"user","content":"q"}`
		answer    = `{"type":"message","id":"msg_1","role":"assistant","content":[{"type":"output_text","text":"a"}]}`
		program   = `{"type":"program","id":"p","call_id":"call_p","code":"f()","fingerprint":"x"}`
		within    = `{"type":"function_call","call_id":"a","name":"f","arguments":"{}","caller":{"type":"program","caller_id":"call_p"}}`
		result    = `{"type":"program_output","id":"po","call_id":"call_p","result":"1","status":"completed"}`
		approval  = `{"type":"mcp_approval_request","id":"mcpr","name":"f","server_label":"s","arguments":"{}"}`
		approved  = `{"type":"mcp_approval_response","approval_request_id":"mcpr","approve":true}`
		called    = `{"type":"mcp_call","id":"mcp_1","approval_request_id":"mcpr","name":"f","server_label":"s","arguments":"{}","output":"1"}`
		search    = `{"type":"web_search_call","id":"ws_1","status":"completed","action":{"type":"search","query":"q"}}`
		reference = `{"type":"item_reference","id":"fc_1"}`
	)
	for name, c := range map[string]struct {
		messages []string
		want     []int
	}{
		"program":                        {[]string{user, program, within, returns("a"), result, answer}, []int{0, 1, 1, 1, 1, 5}},
		"program of two calls":           {[]string{program, within, returns("a"), asks("b"), returns("b"), result}, []int{0, 0, 0, 3, 3, 0}},
		"approval":                       {[]string{user, approval, approved, called, answer}, []int{0, 1, 1, 1, 4}},
		"approval after words":           {[]string{approval, user, approved}, []int{0, 1, 0}},
		"search":                         {[]string{reasoning, search, answer, user}, []int{0, 0, 0, 3}},
		"reasoning, words and a call":    {[]string{reasoning, answer, asks("c"), returns("c"), answer}, []int{0, 0, 0, 0, 4}},
		"words and a call":               {[]string{answer, asks("c"), returns("c")}, []int{0, 1, 1}},
		"reference":                      {[]string{user, reference, returns("a"), answer}, []int{0, 1, 1, 3}},
		"references":                     {[]string{reference, reference, returns("a"), returns("b"), reference, returns("c")}, []int{0, 0, 0, 0, 4, 4}},
		"reference and a call":           {[]string{reference, asks("b"), returns("a"), returns("b")}, []int{0, 0, 0, 0}},
		"reference without a type":       {[]string{`{"id":"fc_1"}`, returns("a")}, []int{0, 0}},
		"a result far from a reference":  {[]string{reference, user, returns("a")}, []int{0, 1, 2}},
		"function from before the tools": {[]string{user, `{"role":"assistant","content":null,"function_call":{"name":"f","arguments":"{}"}}`, `{"role":"function","name":"f","content":"r"}`, user}, []int{0, 1, 1, 3}},
		"code with calls": {[]string{user,
			`{"role":"assistant","content":[{"type":"server_tool_use","id":"srv","name":"code_execution","input":{}},{"type":"tool_use","id":"a","name":"f","input":{},"caller":{"type":"code_execution_20250825","tool_id":"srv"}}]}`,
			`{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":"1"}]}`,
			`{"role":"assistant","content":[{"type":"code_execution_tool_result","tool_use_id":"srv","content":{}},{"type":"text","text":"a"}]}`, user}, []int{0, 1, 1, 1, 4}},
		"a pause": {[]string{user, `{"role":"assistant","content":[{"type":"mcp_tool_use","id":"mcp","name":"f","server_name":"s","input":{}}]}`,
			`{"role":"assistant","content":[{"type":"mcp_tool_result","tool_use_id":"mcp","content":[]}]}`, user}, []int{0, 1, 1, 3}},
		"one message with both": {[]string{`{"role":"assistant","content":[{"type":"server_tool_use","id":"srv","name":"web_search","input":{}},{"type":"web_search_tool_result","tool_use_id":"srv","content":[]}]}`, user}, []int{0, 1}},
	} {
		if got := Units(read(c.messages...)); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}
