package message

import (
	"strings"
	"testing"
)

// TestAChangeStaysWhereItIs changes messages of each form, and compares all bytes.
func TestAChangeStaysWhereItIs(t *testing.T) {
	text := func(to string) func(*Message) {
		return func(m *Message) { firstText(m.Parts).Text = to }
	}
	for _, c := range []struct {
		name, raw string
		change    func(m *Message)
		want      string
	}{
		{"string content", `{ "role" : "user", "content" : "h\u0069", "x":1e2 }`, text("b<\"é"), `{ "role" : "user", "content" : "b<\"é", "x":1e2 }`},
		{"block", `{"role":"user","content":[ {"text": "a","type":"text","cache_control":{"type":"ephemeral"}} , {"type":"text","text":"\u00e9"} ]}`, text("b"), `{"role":"user","content":[ {"text": "b","type":"text","cache_control":{"type":"ephemeral"}} , {"type":"text","text":"\u00e9"} ]}`},
		{"drop first", `{"content":[ {"type":"text","text":"a"} ,  {"type":"text","text":"\u00e9"} ],"role":"user"}`, func(m *Message) { m.Parts = m.Parts[1:] }, `{"content":[ {"type":"text","text":"\u00e9"} ],"role":"user"}`},
		{"drop middle", `{"content":[1a, 2b,3c],"role":"user"}`, func(m *Message) { m.Parts = append(m.Parts[:1:1], m.Parts[2]) }, `{"content":[1a,3c],"role":"user"}`},
		{"drop last", `{"content":[1a, 2b ],"role":"user"}`, func(m *Message) { m.Parts = m.Parts[:1] }, `{"content":[1a ],"role":"user"}`},
		{"add", `{"content":[1a, 2b ],"role":"user"}`, func(m *Message) { m.Parts = append(m.Parts, Part{Kind: Text, Text: "new"}) }, `{"content":[1a, 2b, {"type":"text","text":"new"} ],"role":"user"}`},
		{"add to string", `{"content": "\u00e9","role":"user"}`, func(m *Message) { m.Parts = append(m.Parts, Part{Kind: Text, Text: "new"}) }, `{"content": [{"type":"text","text":"\u00e9"},{"type":"text","text":"new"}],"role":"user"}`},
		{"role", `{"content":[1a],"role":"user", "n":1}`, func(m *Message) { m.Role = RoleAssistant }, `{"content":[1a],"role":"assistant", "n":1}`},
		{"name", `{"role": "user", "content": "x"}`, func(m *Message) { m.Name = "bo" }, `{"role": "user", "content": "x", "name": "bo"}`},
		{"no name", `{"role": "user", "name":"a", "content": "x"}`, func(m *Message) { m.Name = "" }, `{"role": "user", "content": "x"}`},
		{"anthropic result string", `{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content": "long"}]}`, text("cut"), `{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content": "cut"}]}`},
		{"anthropic result parts", `{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":[ 1a,2b ], "is_error": true}, 3c]}`, text("cut"), `{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":[ {"type":"text","text":"cut"},2b ], "is_error": true}, 3c]}`},
		{"anthropic input", `{"role":"assistant","content":[{"type":"thinking","thinking":"t","signature":"s"},{"type":"tool_use","id":"t","name":"f","input":{"a": 1.0}}]}`, func(m *Message) { m.Parts[1].Arguments = `{"a":2}` }, `{"role":"assistant","content":[{"type":"thinking","thinking":"t","signature":"s"},{"type":"tool_use","id":"t","name":"f","input":{"a":2}}]}`},
		{"is_error", `{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":"x"}]}`, func(m *Message) { m.Parts[0].Failed = true }, `{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":"x","is_error":true}]}`},
		{"chat arguments", `{"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":"{\"a\": 1}"},"x":1}],"y":2}`, func(m *Message) { m.Parts[0].Arguments = `{"b":1}` }, `{"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":"{\"b\":1}"},"x":1}],"y":2}`},
		{"chat drop calls", `{"role":"assistant","content":"x","tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":"{}"}}],"y":2}`, func(m *Message) { m.Parts = m.Parts[:1] }, `{"role":"assistant","content":"x","y":2}`},
		{"chat drop content", `{"role":"assistant","content":"x","tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":"{}"}}],"y":2}`, func(m *Message) { m.Parts = m.Parts[1:] }, `{"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":"{}"}}],"y":2}`},
		{"chat add content", `{"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":"{}"}}]}`, func(m *Message) { m.Parts = append(m.Parts, Part{Kind: Text, Text: "x"}) }, `{"role":"assistant","content":"x","tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":"{}"}}]}`},
		{"chat add call", `{"role":"assistant","content":"a"}`, func(m *Message) { m.Parts = append(m.Parts, NewCall("i", "f", `{"q":1}`)) }, `{"role":"assistant","content":"a","tool_calls":[{"id":"i","type":"function","function":{"name":"f","arguments":"{\"q\":1}"}}]}`},
		{"chat result", `{"role":"tool","tool_call_id": "c1","content":"long","z":[]}`, text("cut"), `{"role":"tool","tool_call_id": "c1","content":"cut","z":[]}`},
		{"chat result parts", `{"role":"tool","tool_call_id": "c1","content":[1a , 2b]}`, func(m *Message) { m.Parts[0].Parts[1].Text = "c" }, `{"role":"tool","tool_call_id": "c1","content":[1a , {"text" :"c","type":"text"}]}`},
		{"chat refusal", `{"role":"assistant","content":null,"refusal":"no"}`, text("nay"), `{"role":"assistant","content":null,"refusal":"nay"}`},
		{"responses output", `{"type":"function_call_output","call_id":"c","output":"long" ,"id":"fc"}`, text("cut"), `{"type":"function_call_output","call_id":"c","output":"cut" ,"id":"fc"}`},
		{"responses id", `{"id":"fc","type":"function_call_output","call_id":"c","output":"x"}`, func(m *Message) { m.Parts[0].ID = "d" }, `{"id":"fc","type":"function_call_output","call_id":"d","output":"x"}`},
		{"responses output parts", `{"type":"function_call_output","call_id":"c","output":[{"type":"input_text","text":"long"}, {"type":"input_image","image_url":"https://x/y"}]}`, text("cut"), `{"type":"function_call_output","call_id":"c","output":[{"type":"input_text","text":"cut"}, {"type":"input_image","image_url":"https://x/y"}]}`},
		{"responses arguments", `{"type":"function_call","call_id":"c","name":"f","arguments":"{}"}`, func(m *Message) { m.Parts[0].Arguments = `{"a":1}` }, `{"type":"function_call","call_id":"c","name":"f","arguments":"{\"a\":1}"}`},
		{"responses message", `{"type":"message","role":"assistant","id":"m","content":[{"type":"output_text","annotations":[],"text":"a"}],"status":"completed"}`, text("b"), `{"type":"message","role":"assistant","id":"m","content":[{"type":"output_text","annotations":[],"text":"b"}],"status":"completed"}`},
		{"gemini text", `{"parts":[{"text":"a", "thoughtSignature":"s"}],"role":"model"}`, text("b"), `{"parts":[{"text":"b", "thoughtSignature":"s"}],"role":"model"}`},
		{"gemini result object", `{"role":"user","parts":[{"functionResponse":{"name":"f","response":{"a": [1]} , "id":"i"}}]}`, text("cut"), `{"role":"user","parts":[{"functionResponse":{"name":"f","response":{"output":"cut"} , "id":"i"}}]}`},
		{"gemini result output", `{"role":"user","parts":[{"functionResponse":{"name":"f","response":{ "output" : "long"}}}]}`, text("cut"), `{"role":"user","parts":[{"functionResponse":{"name":"f","response":{ "output" : "cut"}}}]}`},
		{"gemini result error", `{"role":"user","parts":[{"function_response":{"name":"f","response":{"error":"long"}}}]}`, text("cut"), `{"role":"user","parts":[{"function_response":{"name":"f","response":{"error":"cut"}}}]}`},
		{"gemini args", `{"role":"model","parts":[{"functionCall":{"name":"f","args":{"a": 1}},"thoughtSignature":"s"}]}`, func(m *Message) { m.Parts[0].Arguments = `{}` }, `{"role":"model","parts":[{"functionCall":{"name":"f","args":{}},"thoughtSignature":"s"}]}`},
		{"gemini role", `{"role":"model","parts":[{"text":"a"}]}`, func(m *Message) { m.Role = RoleUser }, `{"role":"user","parts":[{"text":"a"}]}`},
	} {
		raw, want := blocks(c.raw), blocks(c.want)
		var m Message
		if err := m.UnmarshalJSON([]byte(raw)); err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		c.change(&m)
		got, err := m.Append(nil, m.Form())
		if err != nil || string(got) != want {
			t.Errorf("%s:\n got %s, %v\nwant %s", c.name, got, err, want)
		}
	}
}

// blocks replaces 1a by a text block that says a, and so on.
func blocks(raw string) string {
	return strings.NewReplacer("1a", `{"type":"text","text":"a"}`, "2b", `{"text" :"b","type":"text"}`, "3c", `{"type":"text","text":"c","z":1}`).Replace(raw)
}

// firstText returns the first text in parts or in the results among them.
func firstText(parts []Part) *Part {
	for i := range parts {
		switch p := &parts[i]; p.Kind {
		case Text, Refusal:
			return p
		case ToolResult:
			if found := firstText(p.Parts); found != nil {
				return found
			}
		}
	}
	return nil
}

// TestNewMessages writes new messages in each form.
func TestNewMessages(t *testing.T) {
	list := []Message{
		New(RoleUser, "hi"),
		{Role: RoleAssistant, Parts: []Part{{Kind: Text, Text: "so"}, NewCall("1", "f", `{"a":1}`), NewCall("2", "g", "")}},
		NewResult("1", "f", "r1"),
		New(RoleSystem, "note"),
		NewResult("2", "g", `{"b":2}`),
		New(RoleAssistant, "end"),
	}
	for form, want := range map[Form]string{
		FormAnthropic: `[{"role":"user","content":"hi"},{"role":"assistant","content":[{"type":"text","text":"so"},{"type":"tool_use","id":"1","name":"f","input":{"a":1}},{"type":"tool_use","id":"2","name":"g","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"1","content":"r1"},{"type":"tool_result","tool_use_id":"2","content":"{\"b\":2}"}]},{"role":"user","content":"note"},{"role":"assistant","content":"end"}]`,
		FormOpenAI:    `[{"role":"user","content":"hi"},{"role":"assistant","content":"so","tool_calls":[{"id":"1","type":"function","function":{"name":"f","arguments":"{\"a\":1}"}},{"id":"2","type":"function","function":{"name":"g","arguments":"{}"}}]},{"role":"tool","tool_call_id":"1","content":"r1"},{"role":"tool","tool_call_id":"2","content":"{\"b\":2}"},{"role":"system","content":"note"},{"role":"assistant","content":"end"}]`,
		FormResponses: `[{"type":"message","role":"user","content":[{"type":"input_text","text":"hi"}]},{"type":"message","role":"assistant","content":"so"},{"type":"function_call","call_id":"1","name":"f","arguments":"{\"a\":1}"},{"type":"function_call","call_id":"2","name":"g","arguments":"{}"},{"type":"function_call_output","call_id":"1","output":"r1"},{"type":"function_call_output","call_id":"2","output":"{\"b\":2}"},{"type":"message","role":"system","content":[{"type":"input_text","text":"note"}]},{"type":"message","role":"assistant","content":"end"}]`,
		FormGemini:    `[{"role":"user","parts":[{"text":"hi"}]},{"role":"model","parts":[{"text":"so"},{"functionCall":{"id":"1","name":"f","args":{"a":1}}},{"functionCall":{"id":"2","name":"g","args":{}}}]},{"role":"user","parts":[{"functionResponse":{"id":"1","name":"f","response":{"output":"r1"}}},{"functionResponse":{"id":"2","name":"g","response":{"b":2}}},{"text":"note"}]},{"role":"model","parts":[{"text":"end"}]}]`,
	} {
		got, err := AppendList(nil, list, form)
		if err != nil || string(got) != want {
			t.Errorf("%s:\n got %s, %v\nwant %s", form, got, err, want)
		}
	}
}
