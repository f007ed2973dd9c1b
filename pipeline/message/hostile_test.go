package message

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
)

// allocated returns how many bytes f allocates.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// TestHostileLists reads lists that are as bad as they can be. Each passes untouched, or is one
// error that names the message and the member.
func TestHostileLists(t *testing.T) {
	for _, c := range []struct{ name, list, want string }{
		{"no list", `{"role":"user"}`, "messages: {\"role\":\"user\"}: invalid value (want a list of messages)"},
		{"no object", `[{"role":"user","content":"a"},7]`, "messages[1]: 7"},
		{"unknown role", `[{"role":"user","content":"a"},{"role":"robot","content":"b"}]`, `messages[1].role: "robot"`},
		{"no role", `[{"content":"b"}]`, `messages[0].role: missing`},
		{"role of another type", `[{"role":1,"content":"b"}]`, `messages[0].role: 1`},
		{"no content", `[{"role":"user"}]`, `messages[0].content: missing`},
		{"content of another type", `[{"role":"user","content":{}}]`, `messages[0].content: {}`},
		{"part of another type", `[{"role":"user","content":["a"]}]`, `messages[0].content[0]: "a"`},
		{"part without a type", `[{"role":"user","content":[{"text":"a"}]}]`, `messages[0].content[0].type: missing`},
		{"text of another type", `[{"role":"user","content":[{"type":"text","text":[]}]}]`, `messages[0].content[0].text: []`},
		{"text of another type in a result", `[{"role":"user","content":[{"type":"tool_result","tool_use_id":"x","content":[{"type":"text","text":7}]}]}]`, `messages[0].content[0].content[0].text: 7`},
		{"repeated member", `[{"role":"user","content":"a"},{"role":"user","content":[{"type":"text","text":"a","text":"b"}]}]`, `messages[1].content[0].text: byte 83: duplicate object member name`},
		{"repeated member deep in a value", `[{"role":"user","content":"a","x":{"y":[{"k":1,"k":2}]}}]`, `messages[0].x.y[0].k: byte 47: duplicate`},
		{"long name", `[{"role":"user","` + strings.Repeat("n", 1<<20) + `":[1,2}]`, "messages[0]." + strings.Repeat("n", 40) + ": byte"},
		{"ends", `[{"role":"user","content":"a"`, `messages[0]: the document ends too early`},
		{"more", `[] []`, `messages: data after the document`},
		{"invalid UTF-8", "[{\"role\":\"user\",\"content\":\"a\"},{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"a\xff\"}]}]", `messages[1].content[0].text: byte 50 is not UTF-8`},
		{"invalid UTF-8 in a name", "[{\"role\":\"user\",\"content\":\"a\",\"\xff\":1}]", "messages[0].\ufffd: byte"},
		{"half a character", `[{"role":"user","content":"a\ud800b"}]`, ""},
		{"empty content", `[{"role":"user","content":""},{"role":"user","content":[]}]`, ""},
		{"empty part of Gemini", `[{"role":"user","parts":[{}]}]`, `messages[0].parts[0]: {}`},
		{"parts of another type", `[{"role":"user","parts":"a"}]`, `messages[0].parts: "a"`},
		{"call without a result", `[{"role":"assistant","content":null,"tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"not json"}}]}]`, ""},
		{"calls of another type", `[{"role":"assistant","content":null,"tool_calls":{}}]`, `messages[0].tool_calls: {}`},
		{"base64 that is none", `[{"role":"user","content":[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"!!"}}]}]`, ""},
		{"same ids", `[{"role":"tool","tool_call_id":"a","content":"1"},{"role":"tool","tool_call_id":"a","content":"2"}]`, ""},
		{"deep", `[{"role":"user","content":"a","x":` + strings.Repeat("[", 9000) + strings.Repeat("]", 9000) + `}]`, ""},
		{"too deep", `[{"role":"user","content":"a","x":` + strings.Repeat("[", 20000) + strings.Repeat("]", 20000) + `}]`, "messages[0].x[0][0][0][0][0][0]…: byte"},
		{"long without a space", `[{"role":"user","content":"` + strings.Repeat("x", 1<<20) + `"}]`, ""},
		{"million empty parts", `[{"role":"user","content":[` + strings.Repeat(`{},`, 1_000_000) + `{}]}]`, "messages[0].content: more than 100000 values"},
		{"million empty texts", `[{"role":"user","parts":[` + strings.Repeat(`{"text":""},`, 1_000_000) + `{"text":""}]}]`, "messages[0].parts.text: more than 100000 values"},
		{"million messages", `[` + strings.Repeat(`{"type":"x"},`, 1_000_000) + `{"type":"x"}]`, "messages: more than 100000 messages"},
	} {
		var list []Message
		var err error
		n := allocated(func() { list, err = DecodeList([]byte(c.list)) })
		if limit := uint64(64<<20 + 4*len(c.list)); n > limit {
			t.Errorf("%s: %d bytes took %d", c.name, len(c.list), n)
		}
		if c.want != "" {
			if err == nil || !strings.HasPrefix(err.Error(), c.want) || len(err.Error()) > 400 {
				t.Errorf("%s:\n got %.500v\nwant %s", c.name, err, c.want)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		out, err := AppendList(nil, list, FormAny)
		if err != nil || string(out) != c.list {
			t.Errorf("%s: %.300s became %.300s, %v", c.name, c.list, out, err)
		}
	}
}

// members returns n members of an object.
func members(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `"%d":0,`, i)
	}
	return strings.TrimSuffix(b.String(), ",")
}

// TestMemoryIsBounded measures what reading and writing allocates, for each byte of the document.
func TestMemoryIsBounded(t *testing.T) {
	image := `[{"role":"user","content":[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"` + strings.Repeat("abcd", 5<<20) + `"}}]}]`
	text := `{"role":"user","content":"` + strings.Repeat("word \\n", 40) + `"},`
	for _, c := range []struct {
		name, list string
		times      float64
	}{
		{"image of 20 MB", image, 2.01}, // the document once, the result once
		{"5,000 messages", "[" + strings.Repeat(text, 4999) + text[:len(text)-1] + "]", 6},
		{"empty texts", `[` + strings.Repeat(`{"role":"user","parts":[`+strings.Repeat(`{"text":""},`, 20_000)+`{"text":""}]},`, 3) + `{"role":"user","parts":[]}]`, 45},
		{"many members", `[{"role":"user","content":"a","x":{` + members(300_000) + `}}]`, 25},
		{"smallest messages", "[" + strings.Repeat(`{"type":"x"},`, 50_000) + `{"type":"x"}]`, 90},
	} {
		data := []byte(c.list)
		dst := make([]byte, 0, len(data)+1)
		var list []Message
		var err error
		n := allocated(func() {
			if list, err = DecodeList(data); err == nil {
				dst, err = AppendList(dst, list, FormAny)
			}
		})
		if err != nil || !bytes.Equal(data, dst) {
			t.Errorf("%s: %v", c.name, err)
		}
		if times := float64(n) / float64(len(data)); times > c.times {
			t.Errorf("%s: %d bytes took %d, %.1f times as much; want at most %.1f", c.name, len(data), n, times, c.times)
		} else {
			t.Logf("%s: %.1f times its bytes", c.name, times)
		}
	}
}

// TestOpaquePartsCannotChange changes parts that only the API understands.
func TestOpaquePartsCannotChange(t *testing.T) {
	for _, raw := range []string{
		`{"role":"assistant","content":[{"type":"text","text":"a"},{"type":"thinking","thinking":"t","signature":"s"}]}`,
		`{"role":"assistant","content":[{"type":"text","text":"a"},{"type":"server_tool_use","id":"s"}]}`,
		`{"role":"model","parts":[{"text":"a"},{"thought":true,"text":"t"}]}`,
	} {
		for _, change := range []func(p *Part){
			func(p *Part) { p.Text = "x" },
			func(p *Part) { p.ID = "x" },
			func(p *Part) { p.Parts = []Part{{Kind: Text}} },
			func(p *Part) { p.Kind, p.Text = Text, "x" },
		} {
			var m Message
			if err := m.UnmarshalJSON([]byte(raw)); err != nil {
				t.Fatal(err)
			}
			change(&m.Parts[1])
			out, err := AppendList(nil, []Message{New(RoleUser, "hi"), m}, FormAny)
			if err == nil || !strings.Contains(err.Error(), "[1].content[1]: ") && !strings.Contains(err.Error(), "[1].parts[1]: ") {
				t.Errorf("%s: %s, %v", raw, out, err)
			}
		}
	}
}

// TestConversionsRefuseToLose converts what the other form has no place for.
func TestConversionsRefuseToLose(t *testing.T) {
	for _, c := range []struct {
		list string
		to   Form
		want string
		left string // what the lossy conversion says, as a list
	}{
		{`[{"role":"assistant","content":[{"type":"thinking","thinking":"t","signature":"s"},{"type":"tool_use","id":"c","name":"f","input":{}}]}]`, FormOpenAI, "messages[0].content[0]: thinking: the form openai has no such part",
			`[{"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":"{}"}}]}]`},
		{`[{"role":"user","content":[{"type":"text","text":"a","cache_control":{"type":"ephemeral"}},{"type":"tool_result","tool_use_id":"c"}]}]`, FormOpenAI, "messages[0].content[0].cache_control: ",
			`[{"role":"tool","tool_call_id":"c","content":""},{"role":"user","content":"a"}]`},
		{`[{"role":"user","content":[{"type":"tool_result","tool_use_id":"c","is_error":true,"content":"no"}]}]`, FormResponses, "messages[0].content[0].is_error: ",
			`[{"type":"function_call_output","call_id":"c","output":"no"}]`},
		{`[{"role":"user","content":[{"type":"document","source":{"type":"text","media_type":"text/plain","data":"d"}},{"type":"text","text":"q"}]}]`, FormOpenAI, "messages[0].content[0]: document: the form openai has no such part",
			`[{"role":"user","content":[{"type":"text","text":"q"}]}]`},
		{`[{"role":"user","name":"bo","content":"q"}]`, FormAnthropic, "messages[0].name: ", `[{"role":"user","content":"q"}]`},
		{`[{"role":"assistant","content":"q","audio":{"id":"a"}},{"role":"tool","tool_call_id":"c","content":"x"}]`, FormAnthropic, "messages[0].audio: ", `[{"role":"assistant","content":"q"},{"role":"user","content":[{"type":"tool_result","tool_use_id":"c","content":"x"}]}]`},
		{`[{"type":"reasoning","id":"r","encrypted_content":"e"},{"type":"message","role":"assistant","content":[{"type":"output_text","text":"a"}]}]`, FormOpenAI, "messages[0]: thinking", `[{"role":"assistant","content":"a"}]`},
		{`[{"role":"model","parts":[{"functionCall":{"name":"f","args":{}},"thoughtSignature":"s"}]}]`, FormOpenAI, "messages[0].parts[0].thoughtSignature: ", `[{"role":"assistant","content":null,"tool_calls":[{"id":"call_1","type":"function","function":{"name":"f","arguments":"{}"}}]}]`},
		{`[{"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":"oops"}}]}]`, FormAnthropic, "messages[0].tool_calls[0].input: ", `[{"role":"assistant","content":[{"type":"tool_use","id":"c","name":"f","input":{}}]}]`},
		{`[{"role":"user","content":[{"type":"image","source":{"type":"file","file_id":"f"}},{"type":"text","text":"q"}]}]`, FormOpenAI, "messages[0].content[0].file_id: ", `[{"role":"user","content":[{"type":"text","text":"q"}]}]`},
	} {
		list, err := DecodeList([]byte(c.list))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Convert(list, c.to); err == nil || !strings.HasPrefix(err.Error(), c.want) || !strings.HasSuffix(err.Error(), ErrLoss.Error()) {
			t.Errorf("%s:\n got %v\nwant %s", c.list, err, c.want)
		}
		out, left, err := Lossy(list, c.to)
		if err != nil || len(left) != 1 || !strings.HasPrefix(left[0]+": ", c.want) {
			t.Errorf("%s: left %q, %v", c.list, left, err)
			continue
		}
		if data, err := AppendList(nil, out, c.to); err != nil || string(data) != c.left {
			t.Errorf("%s:\n got %s, %v\nwant %s", c.list, data, err, c.left)
		}
	}
}

// placesIn are the places of calls and results in the documents of each form.
var placesIn = map[Form]*strings.Replacer{
	FormAnthropic: strings.NewReplacer("LIST", "content", "CALLS", "content", "CALLTWO", "content[1].id", "CALLPLACE", "content[0]", "CALL", "content[0].id",
		"NAME", "content[0].name", "RESULTPLACE", "content[0]", "RESULT", "content[0].tool_use_id"),
	FormOpenAI: strings.NewReplacer("LIST", "content", "CALLS", "tool_calls", "CALLTWO", "tool_calls[1].id", "CALLPLACE", "tool_calls[0]", "CALL", "tool_calls[0].id",
		"NAME", "tool_calls[0].function.name", ".RESULTPLACE", "", "RESULT", "tool_call_id"),
	FormResponses: strings.NewReplacer("LIST", "content", ".CALLS", "", "CALLTWO", "call_id", ".CALLPLACE", "", "CALL", "call_id",
		"NAME", "name", ".RESULTPLACE", "", "RESULT", "call_id"),
	FormGemini: strings.NewReplacer("LIST", "parts", "CALLS", "parts", "CALLTWO", "parts[1].functionCall.id", "CALLPLACE", "parts[0]", "CALL", "parts[0].functionCall.id",
		"NAME", "parts[0].functionCall.name", "RESULTPLACE", "parts[0]", "RESULT", "parts[0].functionResponse.id"),
}

// TestCheck names what APIs refuse.
func TestCheckReferences(t *testing.T) {
	result := `{"type":"function_call_output","call_id":"a","output":"r"}`
	for list, want := range map[string]bool{
		`[{"role":"user","content":"q"},{"type":"item_reference","id":"fc_1"},` + result + `]`:                true,
		`[{"role":"user","content":"q"},{"type":"item_reference","id":"fc_1"},` + result + `,` + result + `]`: false,
		`[{"role":"user","content":"q"},` + result + `,{"type":"item_reference","id":"fc_1"}]`:                false,
	} {
		messages, err := DecodeList([]byte(list))
		if err != nil {
			t.Fatal(err)
		}
		if err := Check(messages, FormResponses); (err == nil) != want {
			t.Errorf("%s: %v", list, err)
		}
	}
}

func TestCheck(t *testing.T) {
	call := func(ids ...string) Message {
		m := Message{Role: RoleAssistant}
		for _, id := range ids {
			m.Parts = append(m.Parts, NewCall(id, "f", "{}"))
		}
		return m
	}
	result := func(id string) Message { return NewResult(id, "f", "r") }
	hi, yo := New(RoleUser, "hi"), New(RoleAssistant, "yo")
	for _, c := range []struct {
		name  string
		list  []Message
		forms []Form
		want  string
	}{
		{"good", []Message{hi, call("a", "b"), result("b"), result("a"), yo}, Forms, ""},
		{"no result", []Message{hi, call("a", "b"), result("b"), yo}, Forms, `messages[1].CALLS: the call "a" has no result`},
		{"no result at the end", []Message{hi, call("a")}, Forms, `messages[1].CALLS: the call "a" has no result`},
		{"no call", []Message{hi, result("a")}, Forms, `messages[1].RESULT: no call before has the id "a"`},
		{"two results", []Message{hi, call("a"), result("a"), result("a")}, Forms, `messages[3].RESULT: "a": invalid value (a result`},
		{"two calls", []Message{hi, call("a", "a"), result("a")}, Forms, `messages[1].CALLTWO: "a"`},
		{"in between", []Message{hi, call("a"), hi, result("a")}, []Form{FormAnthropic, FormOpenAI, FormGemini}, `messages[1].CALLS: the call "a" has no result`},
		{"in between items", []Message{hi, call("a"), hi, result("a")}, []Form{FormResponses}, ""},
		{"result before call", []Message{hi, result("a"), call("a")}, Forms, `messages[1].RESULT: no call`},
		{"no id", []Message{hi, call(""), result("")}, []Form{FormAnthropic, FormOpenAI, FormResponses}, `messages[1].CALL: missing`},
		{"no id in Gemini", []Message{hi, call("", ""), {Role: RoleTool, Parts: []Part{result("").Parts[0], result("").Parts[0]}}}, []Form{FormGemini}, ""},
		{"no name", []Message{hi, {Role: RoleAssistant, Parts: []Part{NewCall("a", "", "{}")}}, result("a")}, Forms, `messages[1].NAME: missing`},
		{"function of old", []Message{hi, {Role: RoleTool, Parts: []Part{{Kind: ToolResult, Name: "f"}}}}, []Form{FormOpenAI}, ""},
		{"user calls", []Message{{Role: RoleUser, Parts: []Part{NewCall("a", "f", "{}")}}}, Forms, `messages[0].CALLPLACE: a call in a message of the role user`},
		{"assistant answers", []Message{{Role: RoleAssistant, Parts: result("a").Parts}}, Forms, `messages[0].RESULTPLACE: a result in a message`},
		{"empty", []Message{hi, {Role: RoleAssistant}, hi}, Forms, `messages[1].LIST: empty`},
		{"no role", []Message{{Parts: hi.Parts}}, Forms, `messages[0].role: ""`},
		{"white space", []Message{New(RoleUser, " \n")}, []Form{FormAnthropic}, `messages[0].content[0].text: empty`},
		{"white space elsewhere", []Message{New(RoleUser, " \n")}, []Form{FormOpenAI, FormResponses, FormGemini}, ""},
		{"not an object", []Message{hi, {Role: RoleAssistant, Parts: []Part{NewCall("a", "f", "[]")}}, result("a")}, []Form{FormAnthropic}, `messages[1].content[0].input: "[]"`},
		{"not base64", []Message{{Role: RoleUser, Parts: []Part{{Kind: Image, Media: &Media{Type: "image/png", Data: "a b"}}}}}, Forms, `messages[0].LIST[0].data: "a b"`},
		{"an image of nothing", []Message{{Role: RoleUser, Parts: []Part{{Kind: Image, Media: &Media{Type: "image/png"}}}}}, Forms, `messages[0].LIST[0]: the image has no data`},
		{"text before result", []Message{hi, call("a"), {Role: RoleUser, Parts: []Part{hi.Parts[0], result("a").Parts[0]}}}, []Form{FormAnthropic}, `messages[2].content[1]: a result after other content`},
	} {
		for _, form := range c.forms {
			want := placesIn[form].Replace(c.want)
			if err := Check(c.list, form); (err == nil) != (want == "") || err != nil && !strings.HasPrefix(err.Error(), want) {
				t.Errorf("%s in %s:\n got %v\nwant %s", c.name, form, err, want)
			}
		}
	}
}

// TestBodiesConvert converts whole bodies with their instructions and tools.
func TestBodiesConvert(t *testing.T) {
	bodies := map[Form]string{
		FormAnthropic: `{"model":"m","max_tokens":5,"messages":[{"role":"user","content":"q"},{"role":"assistant","content":[{"type":"tool_use","id":"c","name":"f","input":{"a":1}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"c","content":"r"}]}],"tools":[{"name":"f","description":"d","input_schema":{"type":"object"}}],"system":"be"}`,
		FormOpenAI:    `{"model":"m","max_completion_tokens":5,"messages":[{"role":"system","content":"be"},{"role":"user","content":"q"},{"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":"{\"a\":1}"}}]},{"role":"tool","tool_call_id":"c","content":"r"}],"tools":[{"type":"function","function":{"name":"f","description":"d","parameters":{"type":"object"}}}]}`,
		FormGemini:    `{"generationConfig":{"maxOutputTokens":5},"contents":[{"role":"user","parts":[{"text":"q"}]},{"role":"model","parts":[{"functionCall":{"id":"c","name":"f","args":{"a":1}}}]},{"role":"user","parts":[{"functionResponse":{"id":"c","name":"f","response":{"output":"r"}}}]}],"tools":[{"functionDeclarations":[{"name":"f","description":"d","parametersJsonSchema":{"type":"object"}}]}],"systemInstruction":{"parts":[{"text":"be"}]}}`,
		FormResponses: `{"model":"m","max_output_tokens":5,"input":[{"role":"system","content":"be"},{"role":"user","content":"q"},{"type":"function_call","call_id":"c","name":"f","arguments":"{\"a\":1}"},{"type":"function_call_output","call_id":"c","output":"r"}],"tools":[{"type":"function","name":"f","description":"d","parameters":{"type":"object"},"strict":false}]}`,
	}
	for from, doc := range bodies {
		b, err := DecodeBody([]byte(doc), FormAny)
		if err != nil || b.Form != from {
			t.Fatalf("%s: %v", from, err)
		}
		for to, want := range bodies {
			converted, err := b.Convert(to)
			if to == FormGemini && from != FormGemini {
				if err == nil || !strings.HasPrefix(err.Error(), "body: model: ") {
					t.Errorf("from %s: %v", from, err)
				}
				var left []string
				if converted, left, err = b.Lossy(to); len(left) != 1 {
					t.Errorf("from %s: %q", from, left)
				}
			}
			if err != nil {
				t.Errorf("%s to %s: %v", from, to, err)
				continue
			}
			got, err := converted.Append(nil, converted.Messages)
			if from == FormGemini && to != FormGemini {
				want = strings.Replace(want, `"model":"m",`, "", 1)
			}
			if err != nil || canonical(string(got)) != canonical(want) {
				t.Errorf("%s to %s:\n got %s, %v\nwant %s", from, to, got, err, want)
			}
		}
	}
}

// canonical makes the ways equal in which the Responses API takes a text.
func canonical(doc string) string {
	for _, role := range []string{"system", "user"} {
		for _, text := range []string{"be", "q"} {
			doc = strings.ReplaceAll(doc, fmt.Sprintf(`{"type":"message","role":%q,"content":[{"type":"input_text","text":%q}]}`, role, text), fmt.Sprintf(`{"role":%q,"content":%q}`, role, text))
		}
	}
	return doc
}

// TestAnEditDoesNotCopyMore changes a text next to an image of 20 MB.
func TestAnEditDoesNotCopyMore(t *testing.T) {
	data := []byte(`[{"role":"user","content":[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"` + strings.Repeat("abcd", 5<<20) + `"}},{"type":"text","text":"q"}]}]`)
	list, err := DecodeList(data)
	if err != nil {
		t.Fatal(err)
	}
	list[0].Parts[1].Text = "changed"
	dst := make([]byte, 0, len(data)+100)
	n := allocated(func() { dst, err = AppendList(dst, list, FormAny) })
	if want := strings.Replace(string(data), `"q"`, `"changed"`, 1); err != nil || string(dst) != want {
		t.Errorf("%v", err)
	}
	if times := float64(n) / float64(len(data)); times > 3.1 {
		t.Errorf("%.1f times the bytes", times)
	}
}

// TestInstructionsStandAlone writes the message of a member of its own as any other.
func TestInstructionsStandAlone(t *testing.T) {
	for doc, want := range map[string]string{
		`{"system":"\u00e9","messages":[]}`:                            `{"role":"system","content":"\u00e9"}`,
		`{"system":[{"type":"text","text":"a","x":1}],"messages":[]}`:  `{"role":"system","content":[{"type":"text","text":"a","x":1}]}`,
		`{"systemInstruction":{"parts":[{"text":"a"}]},"contents":[]}`: `{"parts":[{"text":"a"}],"role":"system"}`,
		`{"instructions":"a","input":"b"}`:                             `{"role":"system","content":"a"}`,
	} {
		b, err := DecodeBody([]byte(doc), FormAny)
		if err != nil {
			t.Fatal(err)
		}
		got, err := b.Messages[0].MarshalJSON()
		if err != nil || string(got) != want {
			t.Errorf("%s: %s, %v", doc, got, err)
		}
	}
}

// TestItemsOfOtherTools reads the calls and results of the Responses API that are not functions.
func TestItemsOfOtherTools(t *testing.T) {
	for _, c := range []struct{ list, id string }{
		{`[{"type":"local_shell_call","id":"lsh","call_id":"c","action":{"type":"exec"},"status":"completed"},{"type":"local_shell_call_output","id":"c","output":"{}"}]`, "c"},
		{`[{"type":"local_shell_call","call_id":"c","action":{}},{"type":"local_shell_call_output","id":"x","call_id":"c","output":"{}"}]`, "c"},
		{`[{"type":"shell_call","call_id":"c","action":{"commands":["ls"]}},{"type":"shell_call_output","call_id":"c","output":[{"stdout":"a","stderr":"","outcome":{"type":"exit","exit_code":0}}]}]`, "c"},
		{`[{"type":"tool_search_call","call_id":"c","execution":"client","arguments":{"q":1}},{"type":"tool_search_output","call_id":"c","tools":[]}]`, "c"},
		{`[{"type":"tool_search_call","call_id":null,"arguments":{"q":1}},{"type":"tool_search_output","call_id":null,"tools":[]}]`, ""},
		{`[{"role":"user","content":"a"},{"id":"rs_1"}]`, ""},
	} {
		list, err := DecodeList([]byte(c.list))
		if err != nil {
			t.Errorf("%s: %v", c.list, err)
			continue
		}
		if err := Check(list, FormResponses); err != nil {
			t.Errorf("%s: %v", c.list, err)
		}
		if calls, results := list[0].Calls(), list[1].Results(); c.id != "" && (len(calls) != 1 || len(results) != 1 || calls[0].ID != c.id || results[0].ID != c.id) {
			t.Errorf("%s: calls %v, results %v", c.list, calls, results)
		}
		if out, err := AppendList(nil, list, FormAny); err != nil || string(out) != c.list {
			t.Errorf("%s became %s, %v", c.list, out, err)
		}
	}
}

// TestAllocationsByMessage reads and writes documents whose messages are short and long. Both take
// as many allocations.
func TestAllocationsByMessage(t *testing.T) {
	count := func(form Form, size int) float64 {
		var list []Message
		for i := range 50 {
			id := fmt.Sprint("c", i)
			text := strings.Repeat("word \n", size)
			list = append(list, New(RoleUser, text), Message{Role: RoleAssistant, Parts: []Part{NewCall(id, "f", `{"a":1}`)}},
				NewResult(id, "f", text), New(RoleAssistant, text))
		}
		empty, err := DecodeBody([]byte(fmt.Sprintf(`{%q:[]}`, listName(form))), form)
		if err != nil {
			t.Fatal(err)
		}
		data, err := empty.Append(nil, list)
		if err != nil {
			t.Fatal(err)
		}
		dst := make([]byte, 0, len(data))
		return testing.AllocsPerRun(3, func() {
			b, err := DecodeBody(data, form)
			if err == nil {
				dst, err = b.Append(dst[:0], b.Messages)
			}
			if err != nil || len(dst) != len(data) {
				t.Fatal(err)
			}
		})
	}
	for _, form := range Forms {
		short, long := count(form, 2), count(form, 1000)
		if long > short+10 || short > 200*10 {
			t.Errorf("%s: 200 messages take %.0f allocations if they are short, %.0f if they are long", form, short, long)
		}
	}
}

// counted is a context that ends after it was asked some times.
type counted struct {
	context.Context
	asked, most int
}

func (c *counted) Err() error {
	if c.asked++; c.asked > c.most {
		return context.DeadlineExceeded
	}
	return nil
}

// Decoders ask before each message whether to go on, and end with the error of the context.
func TestReadingEndsWithTheContext(t *testing.T) {
	list := "[" + strings.Repeat(`{"role":"user","content":"a"},`, 999) + `{"role":"user","content":"b"}]`
	for _, doc := range []string{list, `{"model":"m","messages":` + list + "}"} {
		for most := range 1000 {
			if _, err := DecodeBodyContext(&counted{t.Context(), 0, most}, []byte(doc), FormAny); !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, ErrInvalid) {
				t.Fatalf("after %d questions: error %v", most, err)
			}
		}
	}
	if _, err := DecodeListContext(&counted{t.Context(), 0, 500}, []byte(list)); !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, ErrInvalid) {
		t.Errorf("a list: error %v", err)
	}
}

// Members that nobody knows take more memory than in the document, so they are counted.
func TestUnknownMembersAreBounded(t *testing.T) {
	members := func(n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, `"m%d":1,`, i)
		}
		return b.String()
	}
	message := "{" + members(30_000) + `"role":"user","content":"a"}`
	for doc, want := range map[string]string{
		"{" + members(1<<20) + `"messages":[]}`:                            "body: more than 10000 members: invalid value",
		`{"messages":[` + strings.Repeat(message+",", 60) + message + "]}": "body: messages[16]: more than 500000 parts and unknown members in all messages: invalid value",
	} {
		var err error
		n := allocated(func() { _, err = DecodeBody([]byte(doc), FormAny) })
		if err == nil || err.Error() != want || n > uint64(12*len(doc)) {
			t.Errorf("%d bytes took %d, error %v\nwant %s", len(doc), n, err, want)
		}
	}
}
