package agent

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/pipeline/message"
)

const wholeState = `{"run_id":"r","messages":[{"role":"assistant","content":"","name":"n","tool_calls":[{"id":"c"}]},` +
	`{"role":"tool","content":"x","tool_call_id":"c"}],"observations":["o",""],"reflection":"f","data":{"big":9007199254740993,"f":0.5,"list":[true,null]}}`

func TestStateJSON(t *testing.T) {
	var s State
	if err := json.Unmarshal([]byte(wholeState), &s); err != nil {
		t.Fatal(err)
	}
	want := State{
		RunID: "r", Observations: []string{"o", ""}, Reflection: "f", Messages: s.Messages,
		Data: map[string]any{"big": int64(9007199254740993), "f": 0.5, "list": []any{true, nil}},
	}
	if !reflect.DeepEqual(s, want) {
		t.Errorf("state %+v, want %+v", s, want)
	}
	if m := s.Messages; len(m) != 2 || m[0].Name != "n" || m[0].Calls()[0].ID != "c" || m[1].Results()[0].ID != "c" || m[1].Text() != "x" {
		t.Errorf("messages %+v", m)
	}
	if out, err := json.Marshal(s); err != nil || string(out) != wholeState {
		t.Errorf("JSON %s, %v", out, err)
	}
}

// What a state keeps is what an API sent, to the last byte: a prompt cache compares bytes.
func TestStateKeepsBytes(t *testing.T) {
	in := `{"messages":[{ "role" : "user",` + "\n" + `"content":"<\u00e9>", "x": 1.0 }]}`
	var s State
	if err := json.Unmarshal([]byte(in), &s); err != nil {
		t.Fatal(err)
	}
	if out, err := s.AppendJSON(nil); err != nil || string(out) != in {
		t.Errorf("%s, %v", out, err)
	}
	s.Data = map[string]any{"a": "<"}
	if out, err := s.AppendJSON(nil); err != nil || string(out) != in[:len(in)-1]+`,"data":{"a":"<"}}` {
		t.Errorf("%s, %v", out, err)
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
		`{"messages":[{"role":"bard","content":""}]}`: `agent state: messages[0].role: "bard": invalid value (want user, assistant, system, developer or tool)`,
	} {
		s := State{RunID: "before"}
		err := json.Unmarshal([]byte(in), &s)
		if err == nil || err.Error() != want || s.RunID != "before" {
			t.Errorf("%s: %v, want %s; state %+v", in, err, want, s)
		}
	}
}

func TestCutResults(t *testing.T) {
	result := func(id, text string) pipeline.Message {
		return message.NewResult(id, "", text)
	}
	several := func(a, b string) pipeline.Message {
		return fromJSON(pipeline.RoleUser, `"content":[{"type":"tool_result","tool_use_id":"a","content":"`+a+`"},{"type":"tool_result","tool_use_id":"b","content":[{"type":"text","text":"`+b+`"}]}]`)
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
		if err := enc.Encode(message.CloneList([]pipeline.Message{m})); err != nil || out.String() != "["+in+"]\n" {
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
	if want := []string{"Be brief.", "What is on it?\n[image]", "", "I <b>cannot</b>.", "", "a fox"}; !reflect.DeepEqual(got, want) {
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

// A message must cost what its bytes cost.
func FuzzMessage(f *testing.F) {
	for _, in := range append(slices.Clone(realMessages), `{"role":"user","content":"a"}`, `{"role":"tool","content":"","tool_call_id":"c"}`,
		`{"role":"assistant","tool_calls":[{"id":"c"}]}`, `{"role":"user","content":[{"type":"document","source":{"type":"content","content":[{"type":"tool_result"}]}}]}`,
		`{"type":"reasoning","encrypted_content":"x"}`, `{"type":"function_call","call_id":"c","name":"f","arguments":"{}"}`,
		`{"role":"model","parts":[{"functionCall":{"name":"f","args":{"a":1}},"thoughtSignature":"x"}]}`,
		`{"role":"user","parts":[{"functionResponse":{"name":"f","response":{"a":1}}}]}`, `{"role":"user","content":[{"type":"later_result","tool_use_id":"c"}]}`) {
		f.Add(in)
	}
	f.Fuzz(func(t *testing.T, in string) {
		var m pipeline.Message
		err := json.Unmarshal([]byte(in), &m)
		checkUnits(t, []pipeline.Message{m, message.NewResult("c", "", ""), m})
		if err != nil {
			return
		}
		counted := 0
		eachText(&m, func(text string) { counted += len(text) })
		if most := 7*len(in) + 100; counted > most { // a byte that is no UTF-8 becomes three, in JSON six
			t.Errorf("%d bytes of JSON count as %d", len(in), counted)
		}
	})
}

// checkUnits fails the test when a unit does not begin with its first message, or when a
// message that neither calls nor answers nor names a link is in one of several.
func checkUnits(t *testing.T, messages []pipeline.Message) {
	units := Units(messages)
	for i, unit := range units {
		m := &messages[i]
		apart := m.Role != pipeline.RoleAssistant && len(m.Results()) == 0 && len(m.Links()) == 0
		if unit > i || units[unit] != unit || unit != i && apart {
			t.Errorf("message %d is in unit %d", i, unit)
		}
	}
}
