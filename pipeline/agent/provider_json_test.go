package agent

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/pipeline/core"
)

const wholeState = `{"run_id":"r","messages":[{"role":"assistant","content":"","name":"n","tool_calls":[{"id":"c"}]},` +
	`{"role":"tool","content":"x","tool_call_id":"c"}],"observations":["o",""],"reflection":"f","data":{"big":9007199254740993,"f":0.5,"list":[true,null]}}`

func TestStateJSON(t *testing.T) {
	var s State
	if err := json.Unmarshal([]byte(wholeState), &s); err != nil {
		t.Fatal(err)
	}
	want := State{
		RunID: "r", Observations: []string{"o", ""}, Reflection: "f",
		Messages: []pipeline.Message{
			{Role: pipeline.RoleAssistant, Name: "n", ToolCalls: json.RawMessage(`[{"id":"c"}]`)},
			{Role: pipeline.RoleTool, Content: "x", ToolCallID: "c"},
		},
		Data: map[string]any{"big": int64(9007199254740993), "f": 0.5, "list": []any{true, nil}},
	}
	if !reflect.DeepEqual(s, want) {
		t.Errorf("state %+v, want %+v", s, want)
	}
	if out, err := json.Marshal(s); err != nil || string(out) != wholeState {
		t.Errorf("JSON %s, %v", out, err)
	}
}

func TestStateJSONRefuses(t *testing.T) {
	for in, want := range map[string]string{
		`[]`:                          "agent state: []: invalid value (want an object)",
		`{"run":"r"}`:                 "agent state: run: unknown key: invalid value (want one of run_id, messages, observations, reflection, data)",
		`{"run":null}`:                "agent state: run: unknown key: invalid value (want one of run_id, messages, observations, reflection, data)",
		`{"run_id":1}`:                "agent state: run_id: 1: invalid value (want a string)",
		`{"run_id":"a","run_id":"b"}`: "agent state: run_id: given twice: invalid value",
		`{"observations":[1]}`:        "agent state: observations[0]: 1: invalid value (want a string)",
		`{"observations":{}}`:         "agent state: observations: {}: invalid value (want a list of strings)",
		`{"data":[]}`:                 "agent state: data: []: invalid value (want an object)",
		`{"messages":[null]}`:         "agent state: messages[0]: null: invalid value (want an object)",
		`{"messages":[{"role":"bard","content":""}]}`: `agent state: messages[0]: message: role "bard": invalid value (want user, assistant, system, developer or tool)`,
	} {
		s := State{RunID: "before"}
		err := json.Unmarshal([]byte(in), &s)
		if err == nil || err.Error() != want || s.RunID != "before" {
			t.Errorf("%s: %v, want %s; state %+v", in, err, want, s)
		}
	}
}

func TestMessageJSON(t *testing.T) {
	for in, want := range map[string]string{
		`{"role":"user","content":"a","name":null,"tool_calls":null}`:                              "",
		`{"role":"assistant","content":null,"tool_calls":[{"id":"c"}]}`:                            "",
		`{"role":"assistant","tool_calls":[]}`:                                                     "",
		`{"role":"user"}`:                                                                          "message: content: missing: invalid value",
		`{"role":"user","content":null}`:                                                           "message: content: missing: invalid value",
		`{"content":"a"}`:                                                                          `message: role: missing: invalid value`,
		`{"role":null,"content":"a"}`:                                                              "message: role: null: invalid value (want a string)",
		`{"role":"user","content":[{"text":"a"}]}`:                                                 "message: content[0]: type: missing: invalid value",
		`{"role":"user","content":["a"]}`:                                                          `message: content[0]: "a": invalid value (want an object)`,
		`{"role":"user","content":[{"type":1}]}`:                                                   "message: content[0]: type: 1: invalid value (want a string)",
		`{"role":"user","content":[{"type":"text","text":"a","text":""}]}`:                         "message: content[0].text: given twice: invalid value",
		`{"role":"user","content":[{"type":"tool_result","content":[{"text":"a","text":""}]}]}`:    "message: content[0].content[0].text: given twice: invalid value",
		`{"role":"user","content":[{"type":"document","source":{"type":"base64","type":"text"}}]}`: "message: content[0].source.type: given twice: invalid value",
		`{"role":"user","content":{"type":"text"}}`:                                                `message: content: {"type":"text"}: invalid value (want a string)`,
		`{"role":"assistant","content":"","tool_calls":{}}`:                                        "message: tool_calls: {}: invalid value (want a JSON array)",
		`{"role":"user","content":"a","refusal":"no","refusal":"no"}`:                              "message: refusal: given twice: invalid value",
	} {
		var m pipeline.Message
		err := json.Unmarshal([]byte(in), &m)
		switch {
		case want == "" && err != nil, want != "" && (err == nil || err.Error() != want):
			t.Errorf("%s: %v, want %q", in, err, want)
		case want != "" && !reflect.DeepEqual(m, pipeline.Message{}):
			t.Errorf("%s: error and message %+v", in, m)
		}
	}
}

// A message that a program makes itself must be written as JSON that can be read again.
func TestRestIsCheckedAndWritten(t *testing.T) {
	for rest, want := range map[string]string{
		`{ }`:               "",
		`{ "a": "<" }`:      "",
		`{"role":"system"}`: "rest: role: a member of the message itself: invalid value",
		`{"a":1,"a":2}`:     "rest: a: given twice: invalid value",
		`{"a":1`:            `rest: {"a":1: invalid value (want a JSON object)`,
		`[]`:                "rest: []: invalid value (want a JSON object)",
	} {
		m := pipeline.Message{Role: pipeline.RoleUser, Content: "x", Rest: json.RawMessage(rest)}
		if err := m.Validate(); want == "" && err != nil || want != "" && (err == nil || err.Error() != want) {
			t.Errorf("%s: %v, want %q", rest, err, want)
		}
		if out, err := m.MarshalJSON(); want == "" && (err != nil || !json.Valid(out)) {
			t.Errorf("%s: %s, %v", rest, out, err)
		}
	}
}

func TestCutResults(t *testing.T) {
	result := func(id, text string) pipeline.Message {
		return pipeline.Message{Role: pipeline.RoleTool, ToolCallID: id, Content: text}
	}
	several := func(a, b string) pipeline.Message {
		return pipeline.Message{Role: pipeline.RoleUser, Parts: json.RawMessage(
			`[{"type":"tool_result","tool_use_id":"a","content":"` + a + `"},{"type":"tool_result","tool_use_id":"b","content":[{"type":"text","text":"` + b + `"}]}]`)}
	}
	for name, c := range map[string]struct{ before, after, want string }{
		"one of several": {"ab", "Ab", "a"}, "the other": {"ab", "aB", "b"}, "both": {"ab", "AB", "a,b"}, "none": {"ab", "ab", ""},
	} {
		text := func(s byte, long string) string {
			if s < 'a' {
				return "cut"
			}
			return long
		}
		list := func(s string) []pipeline.Message {
			return []pipeline.Message{several(text(s[0], "long text"), text(s[1], "longer text"))}
		}
		if got := strings.Join(cutResults(list(c.before), list(c.after)), ","); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
	long, short := result("a", "long text"), result("a", "short")
	if got := cutResults([]pipeline.Message{short, long}, []pipeline.Message{short}); len(got) != 0 {
		t.Errorf("the same id: %q", got)
	}
	if got := cutResults([]pipeline.Message{short, long}, []pipeline.Message{short, result("a", "lo")}); len(got) != 1 || got[0] != "a" {
		t.Errorf("the same id, cut: %q", got)
	}
	if got := cutResults([]pipeline.Message{result("", "long")}, []pipeline.Message{result("", "l")}); len(got) != 1 || got[0] != noID {
		t.Errorf("no id: %q", got)
	}
}

// realMessages are messages as the APIs of OpenAI and Anthropic send and take them.
var realMessages = []string{
	`{"role":"developer","content":"Be brief."}`,
	`{"role":"user","content":[{"type":"text","text":"What is on it?"},{"type":"image_url","image_url":{"url":"data:image/png;base64,AAAA"}}]}`,
	`{"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"look","arguments":"{}"}}],"refusal":null,"annotations":[]}`,
	`{"role":"assistant","content":null,"refusal":"I <b>cannot</b>."}`,
	`{"role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":"x"},{"type":"tool_use","id":"t1","name":"look","input":{"n":1.50}}]}`,
	`{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":[{"type":"text","text":"a fox"}],"cache_control":{"type":"ephemeral"}}]}`,
}

// What an API sent must come out as it came in: it takes back its own messages, and no
// others. A history that is refused stops the agent.
func TestRealMessagesPassUnchanged(t *testing.T) {
	for _, in := range realMessages {
		var m pipeline.Message
		if err := json.Unmarshal([]byte(in), &m); err != nil {
			t.Errorf("%s: %v", in, err)
			continue
		}
		var out strings.Builder
		enc := json.NewEncoder(&out)
		enc.SetEscapeHTML(false)
		if err := enc.Encode(core.CloneMessages([]pipeline.Message{m})); err != nil || out.String() != "["+in+"]\n" {
			t.Errorf("%s\nbecame %s, %v", in, out.String(), err)
		}
	}
}

func TestMessageText(t *testing.T) {
	var got []string
	for _, in := range realMessages {
		var m pipeline.Message
		if err := json.Unmarshal([]byte(in), &m); err != nil {
			t.Fatal(err)
		}
		got = append(got, m.Text())
	}
	if want := []string{"Be brief.", "What is on it?\n[image_url]", "", "", "", "a fox"}; !reflect.DeepEqual(got, want) {
		t.Errorf("texts %q, want %q", got, want)
	}
}

func FuzzState(f *testing.F) {
	f.Add(wholeState)
	f.Add(`{"messages":[{"role":"user","content":null}],"data":{"a":1e999}}`)
	f.Add(`{"messages":[{"role":"assistant","tool_calls":[[{"id":""}]]}]}`)
	f.Fuzz(func(t *testing.T, in string) {
		var s State
		if err := json.Unmarshal([]byte(in), &s); err != nil {
			if !reflect.DeepEqual(s, State{}) {
				t.Errorf("error %v and state %+v", err, s)
			}
			return
		}
		if err := s.Validate(); err != nil {
			t.Errorf("decoded, but %v", err)
		}
		out, err := json.Marshal(s)
		if err != nil {
			t.Fatalf("decoded, but not encoded: %v", err)
		}
		var again State
		if err := json.Unmarshal(out, &again); err != nil {
			t.Fatalf("%s: %v", out, err)
		}
		twice, err := json.Marshal(again)
		if err != nil || string(twice) != string(out) {
			t.Errorf("%s became %s, %v", out, twice, err)
		}
		checkUnits(t, s.Messages)
	})
}

// What a message decodes to must encode to the same message, and cost what its bytes cost.
func FuzzMessage(f *testing.F) {
	for _, in := range append(slices.Clone(realMessages), `{"role":"user","content":"a"}`, `{"role":"tool","content":"","tool_call_id":"c"}`,
		`{"role":"assistant","tool_calls":[{"id":"c"}]}`, `{"role":"user","content":[{"type":"document","source":{"type":"content","content":[{"type":"tool_result"}]}}]}`) {
		f.Add(in)
	}
	f.Fuzz(func(t *testing.T, in string) {
		var m, again pipeline.Message
		err := json.Unmarshal([]byte(in), &m)
		if (err != nil) != reflect.DeepEqual(m, pipeline.Message{}) {
			t.Errorf("error %v and message %+v", err, m)
		}
		checkUnits(t, []pipeline.Message{m, {Role: pipeline.RoleTool, ToolCallID: "c"}, m})
		if err != nil {
			return
		}
		out, err := m.MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(out, &again); err != nil || !m.Equal(&again) {
			t.Errorf("%+v became %s, %+v, %v", m, out, again, err)
		}
		counted := 0
		m.CountedTexts(func(text string) { counted += len(text) })
		if most := 3*len(in) + 100; counted > most || len(m.Text()) > most { // a byte that is no UTF-8 becomes three
			t.Errorf("%d bytes of JSON count as %d, and say %d", len(in), counted, len(m.Text()))
		}
		if same, err := m.MapResults(func(text string) (string, error) { return text, nil }); err != nil || !same.Equal(&m) {
			t.Errorf("%+v became %+v, %v", m, same, err)
		}
		if cut, err := m.MapResults(func(string) (string, error) { return "<", nil }); err != nil || cut.Validate() != nil {
			t.Errorf("%+v became %+v, %v, %v", m, cut, err, cut.Validate())
		}
	})
}

// checkUnits fails the test when a unit does not begin with its first message, or when a
// message that neither calls nor answers is in one of several.
func checkUnits(t *testing.T, messages []pipeline.Message) {
	units := Units(messages)
	for i, unit := range units {
		m := &messages[i]
		apart := m.Role != pipeline.RoleTool && m.Role != pipeline.RoleAssistant && len(m.ResultIDs()) == 0
		if unit > i || units[unit] != unit || unit != i && apart {
			t.Errorf("message %d is in unit %d", i, unit)
		}
	}
}
