package steps

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/pipeline/message"
)

// thinkingMessage is a message of Anthropic with spacing, escapes and members that an encoder would not
// write again.
const thinkingMessage = `{ "content" : [ {"type":"thinking", "thinking":"<secret>", "signature":"c2ln\u0061"} ,
  {"type":"text","text":"look\u0020here","cache_control":{"type":"ephemeral"}},
  {"type":"image","source":{"type":"base64","media_type":"image/png","data":"aGVsbG8="}},
  {"type":"tool_use","id":"t1","name":"f","input":{"q" : 1.50}} ], "role":"assistant", "x":[1 ,2] }`

func readMessage(t testing.TB, doc string) (m pipeline.Message) {
	t.Helper()
	if err := m.UnmarshalJSON([]byte(doc)); err != nil {
		t.Fatal(err)
	}
	return m
}

// answeredParts applies parts in JSON to a message, through the reader of answers.
func answeredParts(t testing.TB, m *pipeline.Message, parts string) (string, error) {
	t.Helper()
	var reply abi.ProvideReply
	shown := abiMessages([]pipeline.Message{*m})[0]
	head, _ := json.Marshal(shown)
	doc := `{"messages":[` + strings.TrimSuffix(string(head), "}") + `,"parts":` + parts + `}]}`
	if err := abi.DecodeReply([]byte(doc), &reply); err != nil {
		return "", err
	}
	out, err := pipelineMessages(reply.Messages, []pipeline.Message{*m})
	if err != nil {
		return "", err
	}
	text, err := out[0].Append(nil, message.FormAny)
	return string(text), err
}

// A guest sees what there is, and no content, reasoning or signature.
func TestPartsThatGuestsSee(t *testing.T) {
	for doc, want := range map[string]string{
		thinkingMessage: `[{"index":0,"type":"thinking"},{"index":1,"type":"text","text":"look here"},{"index":2,"type":"image","media":{"type":"image/png","bytes":5}},` +
			`{"index":3,"type":"tool_call","id":"t1","name":"f","arguments":"{\"q\" : 1.50}"}]`,
		`{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,aGk=","detail":"low"}},{"type":"image_url","image_url":{"url":"DATA:x,aGk="}},{"type":"image_url","image_url":{"url":"https://e.com/a"}},{"type":"new","k":"secret"}]}`: `[{"index":0,"type":"image","media":{"type":"image/png","detail":"low","bytes":2}},` +
			`{"index":1,"type":"image","media":{"bytes":6}},{"index":2,"type":"image","media":{"url":"https://e.com/a"}},{"index":3,"type":"unknown"}]`,
		`{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","is_error":true,"content":[{"type":"text","text":"a"},{"type":"image","source":{"type":"file","file_id":"f"}}]}]}`: `[{"index":0,"type":"tool_result","id":"t","parts":[{"index":0,"type":"text","text":"a"},{"index":1,"type":"image","media":{"file_id":"f"}}],"is_error":true}]`,
		`{"role":"assistant","content":null,"refusal":"no"}`: `[{"index":0,"type":"refusal","text":"no"}]`,
		`{"role":"tool","tool_call_id":"c","content":"r"}`:   `[{"index":0,"type":"tool_result","id":"c","parts":[{"index":0,"type":"text","text":"r"}]}]`,
		`{"role":"user","content":"hi"}`:                     `[{"index":0,"type":"text","text":"hi"}]`,
	} {
		m := readMessage(t, doc)
		if got, err := json.Marshal(abiParts(m.Parts, 1)); string(got) != want || err != nil {
			t.Errorf("%s\nshown %s, %v\nwant  %s", doc, got, err, want)
		}
	}
}

// What a guest does not change stays byte for byte, next to what it does.
func TestPartsEditMessages(t *testing.T) {
	const result = `{"role":"user", "content":[{"type":"tool_result","tool_use_id":"t1","content":[ {"type":"text","text":"long text"}, {"type":"image","source":{"type":"base64","media_type":"image/png","data":"aGk="}} ],"cache_control":{"type":"ephemeral"}} ,{"type":"text","text":"\u0041"}]}`
	const call = `{"index":3,"type":"tool_call","id":"t1","name":"f","arguments":"{\"q\" : 1.50}"}`
	for _, tc := range []struct{ doc, parts, old, new string }{
		{thinkingMessage, `[{"index":0},{"index":1},{"index":2},{"index":3}]`, "", ""},
		{thinkingMessage, `[{"index":0,"type":"thinking"},{"index":1,"type":"text","text":"look here"},{"index":2,"type":"image","media":{"type":"image/png","bytes":5}},` + call + `]`, "", ""},
		{thinkingMessage, `[{"index":0},{"index":1,"type":"text","text":"b"},{"index":2},` + call + `]`, `"look\u0020here"`, `"b"`},
		{thinkingMessage, `[{"index":0},{"index":1},{"index":3}]`, "\n  " + `{"type":"image","source":{"type":"base64","media_type":"image/png","data":"aGVsbG8="}},`, ""},
		{result, `[{"index":0,"type":"tool_result","id":"t1","parts":[{"index":0,"type":"text","text":"lo"},{"index":1}]},{"index":1}]`, "long text", "lo"},
		{result, `[{"index":0,"type":"tool_result","id":"t1","parts":[{"index":0}]},{"index":1}]`, `, {"type":"image","source":{"type":"base64","media_type":"image/png","data":"aGk="}}`, ""},
		{result, `[{"index":0,"type":"tool_result","id":"t1"},{"index":1}]`, "", ""},
		{`{"role":"tool", "tool_call_id":"c","content":"\u0041 long","x":1}`, `[{"index":0,"type":"tool_result","id":"c","parts":[{"index":0,"type":"text","text":"s"}]}]`, `\u0041 long`, `s`},
		{`{"role":"user", "content":"\u0041"}`, `[{"index":0,"type":"text","text":"B"}]`, `\u0041`, `B`},
		{`{"parts":[{"functionResponse":{"name":"f", "response":{"output":"long"}}}], "role":"user"}`, `[{"index":0,"type":"tool_result","name":"f","parts":[{"index":0,"type":"text","text":"s"}]}]`, `"long"`, `"s"`},
	} {
		m := readMessage(t, tc.doc)
		got, err := answeredParts(t, &m, tc.parts)
		if want := strings.Replace(tc.doc, tc.old, tc.new, 1); err != nil || got != want {
			t.Errorf("%s\nbecame %s, %v\nwant   %s", tc.parts, got, err, want)
		}
		if back, _ := m.Append(nil, message.FormAny); string(back) != tc.doc {
			t.Errorf("the original message became %s", back)
		}
	}
	m := readMessage(t, thinkingMessage)
	got, err := answeredParts(t, &m, `[{"index":0},{"type":"text","text":"new"},{"index":3}]`)
	if err != nil || !strings.Contains(got, `"signature":"c2ln\u0061"}`) || !strings.Contains(got, `{"type":"text","text":"new"}`) || strings.Contains(got, "image") {
		t.Errorf("with a new text: %s, %v", got, err)
	}
}

// All else is an error that says where and what.
func TestPartsThatAreRefused(t *testing.T) {
	m := readMessage(t, thinkingMessage)
	tool := readMessage(t, `{"role":"tool","tool_call_id":"c","content":"r"}`)
	document := readMessage(t, `{"role":"user","content":[{"type":"document","source":{"type":"content","content":[{"type":"text","text":"d"}]}}]}`)
	for _, tc := range []struct {
		m           *pipeline.Message
		parts, want string
	}{
		{&m, `[]`, "parts: empty"},
		{&m, `[{"index":4}]`, "parts[0]: index 4: the list that was sent has 4 parts"},
		{&m, `[{"index":-1}]`, "parts[0]: index -1"},
		{&m, `[{"index":9223372036854775807}]`, "index 9223372036854775807"},
		{&m, `[{"index":1},{"index":1}]`, "parts[1]: index 1 after 1"},
		{&m, `[{"index":1},{"index":0}]`, "parts[1]: index 0 after 1"},
		{&m, `[{"index":0,"type":"thinking","text":"x"}]`, "type thinking changed"},
		{&m, `[{"index":0,"type":"text","text":"x"}]`, "type thinking changed"},
		{&m, `[{"index":1,"text":"x"}]`, "type text changed"},
		{&m, `[{"index":1,"type":"text","text":"x","name":"n"}]`, "type text changed"},
		{&m, `[{"index":1,"type":"text","text":"look here","parts":[{"type":"text","text":"x"}]}]`, "type text changed"},
		{&m, `[{"index":2,"type":"image","media":{"type":"image/png","bytes":6}}]`, "type image changed"},
		{&m, `[{"index":2,"type":"image"}]`, "type image changed"},
		{&m, `[{"index":3,"type":"tool_call","id":"t1","name":"f","arguments":"{}"}]`, "type tool_call changed"},
		{&m, `[{"type":"tool_call","id":"t2","name":"f","arguments":"{}"}]`, "not a mere text"},
		{&m, `[{"type":"image","media":{"url":"u"}}]`, "not a mere text"},
		{&m, `[{"text":"x"}]`, "not a mere text"},
		{&m, `[{"type":"text","text":"x","parts":[]}]`, "not a mere text"},
		{&tool, `[{"index":0},{"type":"text","text":"x"}]`, "parts[1]: new"},
		{&tool, `[{"index":0,"type":"tool_result","id":"c","parts":[{"index":1}]}]`, "parts[0]: parts[0]: index 1"},
		{&tool, `[{"index":0,"type":"tool_result","id":"d","parts":[]}]`, "type tool_result changed"},
		{&tool, `[{"index":0,"type":"tool_result","id":"c","is_error":true}]`, "type tool_result changed"},
		{&tool, `[{"index":0,"type":"tool_result","id":"c","parts":[{"type":"tool_result"}]}]`, "parts[0]: parts[0]: has no index"},
		{&document, `[{"index":0,"type":"document","media":{},"parts":[{"index":0,"type":"text","text":"e"}]}]`, "type document changed"},
		{&m, strings.Repeat(`[{"index":0,"parts":`, 2000) + `[]` + strings.Repeat(`}]`, 2000), "more than 4 levels"},
		{&m, `[` + strings.Repeat(`{},`, 1<<18) + `{}]`, "when it is decoded"},
	} {
		if got, err := answeredParts(t, tc.m, tc.parts); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%.60s: became %q, %v (want %s)", tc.parts, got, err, tc.want)
		}
	}
	foreign := []abi.Message{{Role: "assistant", Content: "new", Parts: []abi.MessagePart{}}}
	if _, err := pipelineMessages(foreign, []pipeline.Message{m}); err == nil || !strings.Contains(err.Error(), "messages[0]: parts of a message that the host did not send") {
		t.Errorf("parts of an unknown message: %v", err)
	}
}

// Whatever parts a guest answers, nothing panics, and what was thought stays or goes as a whole.
func FuzzMessageParts(f *testing.F) {
	f.Add(`[{"index":0},{"index":1,"type":"text","text":"b"},{"type":"text","text":"new"}]`)
	f.Add(`[{"index":0,"type":"tool_result","id":"t1","parts":[]}]`)
	f.Add(`[]`)
	m := readMessage(f, thinkingMessage)
	f.Fuzz(func(t *testing.T, parts string) {
		got, err := answeredParts(t, &m, parts)
		if err != nil {
			return
		}
		const thought = `{"type":"thinking", "thinking":"<secret>", "signature":"c2ln\u0061"}`
		if strings.Contains(got, "<secret>") != strings.Contains(got, thought) {
			t.Errorf("%s: became %s", parts, got)
		}
	})
}
