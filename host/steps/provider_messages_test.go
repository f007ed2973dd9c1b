package steps

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/pipeline/message"
)

// A guest that reads JSON and writes it anew orders keys and writes numbers in its own way.
// What it hands back is still the message it was sent, with all that it has not seen.
func TestMessagesWrittenAnewAreRecognised(t *testing.T) {
	sent := fromJSON(pipeline.RoleAssistant, `"content":[{"type":"thinking","signature":"x"},{"type":"tool_use","id":"t1","name":"f","input":{"q":"a<b","n":1.50,"list":[]}}]`)
	plain := fromJSON(pipeline.RoleAssistant, `"content":"so","refusal":null`)
	for calls, same := range map[string]bool{
		`[{"id":"t1","type":"function","function":{"name":"f","arguments":"{\"q\":\"a<b\",\"n\":1.50,\"list\":[]}"}}]`:                        true,
		`[ {"function":{"arguments":"{\"q\":\"a\u003cb\",\"n\":1.50,\"list\":[]}","name":"f"},"type":"function","id":"t1"} ]`:                 true,
		`[{"id":"t1","type":"function","function":{"name":"f","arguments":"{\"q\":\"a<c\",\"n\":1.50,\"list\":[]}"}}]`:                        false,
		`[{"id":"t1","type":"function","function":{"name":"f","arguments":"{}"}}]`:                                                            false,
		`[{"id":"t1","type":"function","function":{"name":"f","arguments":"{\"q\":\"a<b\",\"n\":1.50,\"list\":[]}"}},{"id":"t2","name":"g"}]`: false,
	} {
		in := abi.Message{Role: "assistant", ToolCalls: json.RawMessage(calls)}
		out, err := pipelineMessages([]abi.Message{in}, []pipeline.Message{sent})
		if err != nil || out[0].Equal(&sent) != same {
			t.Errorf("%s: became %+v, %v", calls, out, err)
		}
	}
	for _, none := range []string{"", "null", "[]"} {
		in := abi.Message{Role: "assistant", Content: "so", ToolCalls: json.RawMessage(none)}
		if out, err := pipelineMessages([]abi.Message{in}, []pipeline.Message{plain}); err != nil || !out[0].Equal(&plain) {
			t.Errorf("calls %q: became %+v, %v", none, out, err)
		}
		in.Content = "new"
		if out, err := pipelineMessages([]abi.Message{in}, nil); err != nil || out[0].Text() != "new" || len(out[0].Calls()) > 0 {
			t.Errorf("calls %q: %+v, %v", none, out, err)
		}
	}
}

// Messages that look the same to a guest are told apart by their order: who drops the first of
// two images keeps the second.
func TestMessagesThatLookTheSame(t *testing.T) {
	image := func(data string) pipeline.Message {
		return fromJSON(pipeline.RoleUser, `"content":[{"type":"image","source":{"data":"`+data+`"}}]`)
	}
	text := func(s string) pipeline.Message { return message.New(pipeline.RoleAssistant, s) }
	sent := []pipeline.Message{image("A"), text("cat"), image("B"), text("dog"), text("cat")}
	shown := abiMessages(sent)
	note := abi.Message{Role: "user", Content: "note"}
	for name, c := range map[string]struct {
		in   []abi.Message
		want []int
	}{
		"all":          {shown, []int{0, 1, 2, 3, 4}},
		"the end":      {shown[2:], []int{2, 3, 4}},
		"the begin":    {shown[:2], []int{0, 1}},
		"one left out": {append(append([]abi.Message{}, shown[:2]...), shown[3:]...), []int{0, 1, 3, 4}},
		"a note":       {append([]abi.Message{note}, shown[2:]...), []int{-1, 2, 3, 4}},
		"moved":        {[]abi.Message{shown[3], shown[2]}, []int{3, 2}},
		"once more":    {append(append([]abi.Message{}, shown...), shown[3]), []int{0, 1, 2, 3, 4, -1}},
	} {
		if got := handedBack(c.in, shown); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
	if back, err := pipelineMessages(shown[2:], sent); err != nil || !back[0].Equal(&sent[2]) {
		t.Errorf("the second image became %+v, %v", back, err)
	}
}

// fromJSON reads a message with a role and other members, in JSON.
func fromJSON(role pipeline.Role, members string) (m pipeline.Message) {
	if err := m.UnmarshalJSON([]byte(`{"role":"` + string(role) + `",` + members + `}`)); err != nil {
		panic(err)
	}
	return m
}
