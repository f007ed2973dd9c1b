package message

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

// bodies are documents of each form, with the form that they are found to be.
var bodies = []struct {
	form     Form
	doc      string
	messages int
}{
	{FormOpenAI, ` [ {"role":"user","content":"hi"} ,{"role":"assistant","content":"yo"} ] `, 2},
	{FormOpenAI, `{"messages" : []}`, 0},
	{FormOpenAI, "{\n  \"model\": \"m\",\n  \"messages\": [\n    {\"role\": \"system\", \"content\": \"be\"},\n    {\"role\": \"user\", \"content\": \"q\"},\n    {\"role\": \"assistant\", \"tool_calls\": [{\"id\":\"c\",\"type\":\"function\",\"function\":{\"name\":\"f\",\"arguments\":\"{}\"}}]},\n    {\"role\": \"tool\", \"tool_call_id\": \"c\", \"content\": \"r\"}\n  ],\n  \"x\": 1e2\n}\n", 4},
	{FormAnthropic, `{"model":"claude-sonnet-4-5","max_tokens":100,"messages":[{"role":"user","content":"q"}]}`, 1},
	{FormAnthropic, `{"model":"m","stop_sequences":["x"],"messages":[{"role":"user","content":"q"}]}`, 1},
	{FormOpenAI, `{"model":"anthropic/claude-sonnet-4.5","messages":[{"role":"user","content":"q"}]}`, 1},
	{FormOpenAI, `{"model":"claude-sonnet-4-5","messages":[{"role":"system","content":"s"},{"role":"user","content":"q"}]}`, 2},
	{FormOpenAI, `{"model":"claude-sonnet-4-5","seed":1,"messages":[{"role":"user","content":"q"}]}`, 1},
	{FormAnthropic, `{"model":"claude","max_tokens":10,"system":"be \u00e9","messages":[ {"role":"user","content":"q"}, {"role":"assistant","content":[{"type":"tool_use","id":"t","name":"f","input":{ }}]} ,{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":"r"}]}],"tools":[{"name":"f","input_schema":{"type":"object"}}]}`, 4},
	{FormAnthropic, `{"system":[ {"type":"text","text":"bill"} , {"type":"text","text":"be","cache_control":{"type":"ephemeral"}} ],"messages":[{"role":"user","content":[{"type":"text","text":"q","cache_control":{"type":"ephemeral"}}]}]}`, 2},
	{FormResponses, `{"model":"m","instructions":"be","input":"q","tools":[{"type":"function","name":"f","parameters":{}}]}`, 2},
	{FormResponses, `{"input":[{"role":"user","content":"q"},{"type":"reasoning","id":"r","encrypted_content":"e"},{"type":"function_call","call_id":"c","name":"f","arguments":"{}"},{"type":"function_call_output","call_id":"c","output":"r"}]}`, 4},
	{FormGemini, `{"systemInstruction":{"parts":[ {"text":"be"} ]},"contents":[{"role":"user","parts":[{"text":"q"}]},{"parts":[{"functionResponse":{"name":"f","response":{}}}]}],"generationConfig":{}}`, 3},
	{FormGemini, `{"system_instruction":{"role":"system","parts":[{"text":"be"}]},"contents":[{"role":"user","parts":[{"text":"q"}]}]}`, 2},
}

func TestAnUnchangedBodyIsTheSameBytes(t *testing.T) {
	for _, c := range bodies {
		b, err := DecodeBody([]byte(c.doc), FormAny)
		if err != nil {
			t.Errorf("%s: %v", c.doc, err)
			continue
		}
		if b.Form != c.form || len(b.Messages) != c.messages {
			t.Errorf("%s: is %q with %d messages", c.doc, b.Form, len(b.Messages))
		}
		got, err := b.Append([]byte("x"), CloneList(b.Messages))
		if err != nil || string(got) != "x"+c.doc {
			t.Errorf("%s\nbecame %s, %v", c.doc, got, err)
		}
	}
}

// TestABodyChangesWhereItsMessagesDo changes each text of each document, and replaces the same
// text in the JSON.
func TestABodyChangesWhereItsMessagesDo(t *testing.T) {
	changed := 0
	for _, c := range bodies {
		b, err := DecodeBody([]byte(c.doc), FormAny)
		if err != nil {
			t.Fatal(err)
		}
		for i := range b.Messages {
			list := CloneList(b.Messages)
			p := firstText(list[i].Parts)
			if p == nil || p.Text == "{}" {
				continue
			}
			raw := p.raw
			if p.place != inString {
				raw = quote(p.Text)
			}
			want := replaceAt(c.doc, raw, b, i)
			p.Text = "changed"
			changed++
			got, err := b.Append(nil, list)
			if err != nil || string(got) != want {
				t.Errorf("message %d of\n    %s\ngot %s, %v\nwant%s", i, c.doc, got, err, want)
			}
		}
	}
	if changed < len(bodies) {
		t.Errorf("%d messages of %d bodies were changed, want one of each or more", changed, len(bodies))
	}
}

// replaceAt replaces a text in the JSON of a message of a document.
func replaceAt(doc, raw string, b *Body, i int) string {
	m := b.Messages[i].origin
	return doc[:m.at] + strings.Replace(m.raw, raw, `"changed"`, 1) + doc[m.end():]
}

func TestABodyWithOtherMessages(t *testing.T) {
	note, hi := New(RoleSystem, "note"), New(RoleUser, "hi")
	for _, c := range []struct {
		name, doc string
		change    func(list []Message) []Message
		want      string
	}{
		{"drop the first", `{"messages":[ {"role":"user","content":"a"},  {"role":"user","content":"b"} ]}`, func(l []Message) []Message { return l[1:] }, `{"messages":[ {"role":"user","content":"b"} ]}`},
		{"add in between", `{"messages":[ {"role":"user","content":"a"},  {"role":"user","content":"b"} ]}`, func(l []Message) []Message { return []Message{l[0], hi, l[1]} }, `{"messages":[ {"role":"user","content":"a"},  {"role":"user","content":"hi"},  {"role":"user","content":"b"} ]}`},
		{"add to none", `{"messages":[ ]}`, func(l []Message) []Message { return []Message{hi} }, `{"messages":[{"role":"user","content":"hi"} ]}`},
		{"drop all", `{"messages":[ {"role":"user","content":"a"} ]}`, func(l []Message) []Message { return nil }, `{"messages":[  ]}`},
		{"drop the system", `{"system":"s", "messages":[]}`, func(l []Message) []Message { return nil }, `{"messages":[]}`},
		{"add to the system", `{"system":"\u00e9", "messages":[]}`, func(l []Message) []Message { return append(l, note) }, `{"system":[{"type":"text","text":"\u00e9"},{"type":"text","text":"note"}], "messages":[]}`},
		{"a first system", `{"messages":[{"role":"user","content":[{"type":"tool_result","tool_use_id":"x"}]}]}`, func(l []Message) []Message { return append([]Message{note}, l...) }, `{"messages":[{"role":"user","content":[{"type":"tool_result","tool_use_id":"x"}]}],"system":"note"}`},
		{"a system between call and result", `{"system":"s","messages":[{"role":"assistant","content":[{"type":"tool_use","id":"t","name":"f","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"t"}]}]}`,
			func(l []Message) []Message { return []Message{l[0], l[1], note, l[2]} },
			`{"system":"s","messages":[{"role":"assistant","content":[{"type":"tool_use","id":"t","name":"f","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"t"}]},{"role":"user","content":"note"}]}`},
		{"input text", `{"input":"q", "model":"m"}`, func(l []Message) []Message { return append(l, note) }, `{"input":[{"type":"message","role":"user","content":[{"type":"input_text","text":"q"}]},{"type":"message","role":"system","content":[{"type":"input_text","text":"note"}]}], "model":"m"}`},
		{"no input", `{"previous_response_id":"p"}`, func(l []Message) []Message { return append(l, hi) }, `{"previous_response_id":"p","input":[{"type":"message","role":"user","content":[{"type":"input_text","text":"hi"}]}]}`},
		{"gemini system", ` {"contents":[]}`, func(l []Message) []Message { return append(l, note, hi) }, ` {"contents":[{"role":"user","parts":[{"text":"hi"}]}],"systemInstruction":{"parts":[{"text":"note"}]}}`},
		{"gemini contents of one role", `{"contents":[ {"role":"user","parts":[{"text":"a"}]}, {"parts":[ {"text":"b"} ]}, {"role":"model","parts":[{"text":"c"} ]}, {"role":"user","parts":[{"text":"d"}]} ]}`,
			func(l []Message) []Message { return []Message{l[0], l[1], note, hi, l[2], l[3], hi} },
			`{"contents":[ {"role":"user","parts":[{"text":"a"}]}, {"parts":[ {"text":"b"} ,{"text":"note"},{"text":"hi"}]}, {"role":"model","parts":[{"text":"c"} ]}, {"role":"user","parts":[{"text":"d"},{"text":"hi"}]} ]}`},
		{"gemini contents that become neighbours", `{"contents":[{"role":"user","parts":[{"text":"a"}]},{"role":"model","parts":[{"text":"b"}]},{"role":"user","parts":[{"text":"c"}]},{"role":"model","parts":[{"text":"d"}]},{"role":"user","parts":[{"text":"e"}],"x":1}]}`,
			func(l []Message) []Message { return []Message{l[0], l[2], l[4]} },
			`{"contents":[{"role":"user","parts":[{"text":"a"},{"text":"c"}]},{"role":"user","parts":[{"text":"e"}],"x":1}]}`},
		{"an answer first", `{"system":"s","messages":[{"role":"user","content":"q"},{"role":"assistant","content":"a"}]}`,
			func(l []Message) []Message { return []Message{l[0], note, l[2]} },
			`{"system":"s","messages":[{"role":"user","content":"note"},{"role":"assistant","content":"a"}]}`},
		{"new after a system within the list", `{"system":"s","messages":[{"role":"user","content":"q"},{"role":"system","content":"t"},{"role":"assistant","content":"a"}]}`,
			func(l []Message) []Message { return []Message{l[0], l[1], l[2], note, hi, l[3]} },
			`{"system":"s","messages":[{"role":"user","content":"q"},{"role":"user","content":"note"},{"role":"user","content":"hi"},{"role":"system","content":"t"},{"role":"assistant","content":"a"}]}`},
		{"a system within the list changes", `{"system":"s","messages":[{"role":"user","content":"q"},{"role":"system","content":"t"}]}`,
			func(l []Message) []Message { l[2].Parts[0].Text = "u"; return l },
			`{"system":"s","messages":[{"role":"user","content":"q"},{"role":"system","content":"u"}]}`},
		{"instructions", `{"instructions":"a","input":[]}`, func(l []Message) []Message { l[0].Parts[0].Text = "b"; return l }, `{"instructions":"b","input":[]}`},
	} {
		b, err := DecodeBody([]byte(c.doc), FormAny)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		got, err := b.Append(nil, c.change(CloneList(b.Messages)))
		if err != nil || string(got) != c.want {
			t.Errorf("%s:\n got %s, %v\nwant %s", c.name, got, err, c.want)
		}
	}
}

// TestFollows finds the messages of the system within lists.
func TestFollows(t *testing.T) {
	for _, c := range []struct {
		form Form
		doc  string
		want []bool
	}{
		{FormAnthropic, `{"system":"s","messages":[{"role":"user","content":"q"},{"role":"system","content":"t"}]}`, []bool{false, false, true}},
		{FormAnthropic, `{"messages":[{"role":"system","content":"first"},{"role":"system","content":"second"},{"role":"user","content":"q"},{"role":"developer","content":"t"}]}`, []bool{false, false, false, false}},
		{FormOpenAI, `{"messages":[{"role":"user","content":"q"},{"role":"system","content":"t"}]}`, []bool{false, false}},
		{FormAny, `[{"role":"user","content":"q"},{"role":"system","content":"t"},{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"f","input":{}}]}]`, []bool{false, true, false}},
		{FormAny, `[{"role":"user","content":"q"},{"role":"system","content":"t"},{"role":"assistant","content":"a"}]`, []bool{false, false, false}},
	} {
		b, err := DecodeBody([]byte(c.doc), c.form)
		if err != nil {
			t.Fatal(err)
		}
		lists := [][]Message{b.Messages, CloneList(b.Messages)}
		if c.form == FormAny {
			list, err := DecodeList([]byte(c.doc))
			if err != nil {
				t.Fatal(err)
			}
			lists = append(lists, list)
		}
		for _, list := range lists {
			if len(list) != len(c.want) {
				t.Errorf("%s: %d messages, want %d", c.doc, len(list), len(c.want))
				continue
			}
			for i := range list {
				if list[i].Follows() != c.want[i] {
					t.Errorf("%s: message %d: %v", c.doc, i, !c.want[i])
				}
			}
		}
	}
}

// TestMediaInResultsOfChat converts a result with an image to the form of OpenAI's chat, whose
// results are text.
func TestMediaInResultsOfChat(t *testing.T) {
	list, err := DecodeList([]byte(`[{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"f","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":[{"type":"text","text":"seen"},{"type":"image","source":{"type":"base64","media_type":"image/png","data":"aaaa"}}]}]}]`))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Convert(list, FormOpenAI); !errors.Is(err, ErrLoss) || !strings.Contains(err.Error(), "messages[1].content[0].content[1]: image") {
		t.Errorf("Convert: %v", err)
	}
	out, lost, err := Lossy(list, FormOpenAI)
	if err != nil || len(lost) != 1 {
		t.Fatalf("Lossy: %q, %v", lost, err)
	}
	want := `{"role":"tool","tool_call_id":"a","content":[{"type":"text","text":"seen"},{"type":"text","text":"[image]"}]}`
	if got, err := AppendList(nil, out[1:], FormOpenAI); err != nil || string(got) != "["+want+"]" {
		t.Errorf("got %s, %v", got, err)
	}
}

// Anthropic demands a bound of the answer: a body without one gets the default, and one of OpenAI
// that states it under both of its names keeps the first.
func TestAnthropicGetsMaxTokens(t *testing.T) {
	const messages = `,"messages":[{"role":"user","content":"q"}]}`
	for in, want := range map[string]string{
		`{"model":"m"` + messages:                                          `"max_tokens":4096`,
		`{"model":"m","max_tokens":7` + messages:                           `"max_tokens":7`,
		`{"model":"m","max_completion_tokens":5,"max_tokens":7` + messages: `"max_tokens":5`,
	} {
		body, err := DecodeBody([]byte(in), FormOpenAI)
		if err != nil {
			t.Fatal(err)
		}
		body, _, err = body.Lossy(FormAnthropic)
		if err != nil {
			t.Fatal(err)
		}
		out, err := body.Append(nil, body.Messages)
		if err != nil || strings.Count(string(out), "max_tokens") != 1 || !strings.Contains(string(out), want) {
			t.Errorf("%s: %s, %v; want %s", in, out, err, want)
		}
	}
}

// TestPlacesInTheDocument names what a conversion leaves out, and what an API refuses, by the place
// in the document.
func TestPlacesInTheDocument(t *testing.T) {
	for _, c := range []struct {
		doc  string
		to   Form
		want []string
	}{
		{`{"system":[{"type":"text","text":"a"},{"type":"text","text":"b","cache_control":{"type":"ephemeral"}}],"messages":[{"role":"user","content":[{"type":"text","text":"q","x":1}]}]}`, FormGemini,
			[]string{"system[1].cache_control: there is no such member in the form gemini", "messages[0].content[0].x: there is no such member in the form gemini"}},
		{`{"instructions":"a","input":[{"role":"user","content":"q","phase":"p"}]}`, FormOpenAI, []string{"input[0].phase: there is no such member in the form openai"}},
		{`{"systemInstruction":{"parts":[{"text":"a","x":1}]},"contents":[{"role":"user","parts":[{"text":"q","y":1}]}]}`, FormAnthropic,
			[]string{"systemInstruction.parts[0].x: there is no such member in the form anthropic", "contents[0].parts[0].y: there is no such member in the form anthropic"}},
		{`{"messages":[{"role":"system","content":"a"},{"role":"user","content":"q","name":"n"}]}`, FormAnthropic, []string{"messages[1].name: there is no such member in the form anthropic"}},
	} {
		b := decoded(t, []byte(c.doc), FormAny)
		_, lines, err := b.Lossy(c.to)
		if err != nil || !slices.Equal(lines, c.want) {
			t.Errorf("%s: left %q, %v", c.doc, lines, err)
		}
		if _, err := b.Convert(c.to); err == nil || !strings.HasPrefix(err.Error(), "body: "+c.want[0]) {
			t.Errorf("%s: %v", c.doc, err)
		}
	}
	b := decoded(t, []byte(`{"system":"a","messages":[{"role":"user","content":"q"},{"role":"user","content":[]}]}`), FormAny)
	if err := b.InPlace(Check(b.Messages, b.Form), 0); err == nil || !strings.HasPrefix(err.Error(), "messages[1].content: empty") {
		t.Error(err)
	}
}

// Strict schemas are the default of the Responses API alone.
func TestToolsKeepWhetherTheirSchemaIsStrict(t *testing.T) {
	const function = `"name":"f","parameters":{"type":"object"}`
	for _, c := range []struct {
		from, to Form
		tool     string
		want     string // empty: refused
	}{
		{FormOpenAI, FormResponses, `{"type":"function","function":{` + function + `}}`, `{"type":"function",` + function + `,"strict":false}`},
		{FormOpenAI, FormResponses, `{"type":"function","function":{` + function + `,"strict":true}}`, `{"type":"function",` + function + `,"strict":true}`},
		{FormResponses, FormOpenAI, `{"type":"function",` + function + `,"strict":false}`, `{"type":"function","function":{` + function + `}}`},
		{FormResponses, FormOpenAI, `{"type":"function",` + function + `,"strict":true}`, `{"type":"function","function":{` + function + `,"strict":true}}`},
		{FormAnthropic, FormResponses, `{"name":"f","input_schema":{"type":"object"}}`, `{"type":"function",` + function + `,"strict":false}`},
		{FormOpenAI, FormGemini, `{"type":"function","function":{` + function + `,"strict":true}}`, ""},
	} {
		body, err := DecodeBody([]byte(`{"`+listName(c.from)+`":[{"role":"user","content":"hi"}],"tools":[`+c.tool+`]}`), c.from)
		if err != nil {
			t.Fatal(err)
		}
		out, err := body.Convert(c.to)
		if c.want == "" {
			if err == nil || !strings.Contains(err.Error(), "strict") {
				t.Errorf("%s to %s: %v", c.tool, c.to, err)
			}
			continue
		}
		if err != nil || len(out.Tools) != 1 || out.Tools[0].Raw() != c.want {
			t.Errorf("%s to %s: %+v, %v", c.tool, c.to, out, err)
		}
	}
}

// Anthropic takes temperatures up to 1.
func TestTemperaturesOverOneAreLost(t *testing.T) {
	for temperature, fits := range map[string]bool{"0.7": true, "1": true, "1.0": true, "1.2": false, "2": false} {
		body, err := DecodeBody([]byte(`{"messages":[{"role":"user","content":"hi"}],"temperature":`+temperature+`}`), FormOpenAI)
		if err != nil {
			t.Fatal(err)
		}
		if _, err = body.Convert(FormAnthropic); (err == nil) != fits || err != nil && !strings.Contains(err.Error(), "temperature: "+temperature) {
			t.Errorf("%s: %v", temperature, err)
		}
		if _, err = body.Convert(FormGemini); err != nil {
			t.Errorf("%s: %v", temperature, err)
		}
	}
}
