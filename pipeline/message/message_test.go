package message

import (
	"testing"
)

func TestUnchangedMessagesAreWrittenAsTheyCame(t *testing.T) {
	for _, raw := range []string{
		`{"role":"user","content":"hi"}`,
		`{ "content" : [ {"type":"text","text":"a\u00e9\n"} , {"type":"image","source":{"type":"base64","media_type":"image/png","data":"aGk="}} ], "role":"user", "x": 1e2 }`,
		`{"role":"assistant","content":null,"refusal":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"f","arguments":"{\"a\": 1.0}"}}]}`,
		`{"role":"tool","tool_call_id":"c1","content":"done"}`,
		`{"role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":"s"},{"type":"tool_use","id":"t","name":"n","input":{"b": 2}}]}`,
		`{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":[{"type":"text","text":"r"}],"is_error":true}]}`,
		`{"type":"function_call","call_id":"c","name":"f","arguments":"{}"}`,
		`{"type":"function_call_output","call_id":"c","output":"x"}`,
		`{"type":"reasoning","id":"rs","summary":[],"encrypted_content":"zzz"}`,
		`{"role":"model","parts":[{"text":"t"},{"functionCall":{"name":"f","args":{"a":1}}}]}`,
	} {
		var m Message
		if err := m.UnmarshalJSON([]byte(raw)); err != nil {
			t.Errorf("%s: %v", raw, err)
			continue
		}
		out, err := m.Append(nil, m.Form())
		if err != nil || string(out) != raw {
			t.Errorf("%s\nbecame %s, %v", raw, out, err)
		}
		t.Logf("%s %s %q calls %d results %d", m.Form(), m.Role, m.Text(), len(m.Calls()), len(m.Results()))
	}
}
