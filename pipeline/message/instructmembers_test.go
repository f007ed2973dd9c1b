package message_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/anchor-host/anchor-host/pipeline/message"
)

// A chain may take out the instructions of several members, which may be neighbours, the first or the last ones.
func TestSeveralMembersForInstructions(t *testing.T) {
	const camel, snake, list, more = `"systemInstruction" : {"parts":[{"text":"a"}]}`, `"system_instruction":{"parts":[{"text":"b"}]}`, `"contents":[{"role":"user","parts":[{"text":"hi"}]}]`, `"tools":[]`
	for _, members := range [][]string{
		{list, camel, snake}, {camel, snake, list}, {camel, list, snake}, {camel, snake}, {list, camel, more, snake}, {list, more, snake, camel}, {camel, list, snake, `"system":"c"`}, {list, camel, snake, more}, {list, camel}, {camel, list},
	} {
		doc := "{ " + strings.Join(members, " ,\n") + " }"
		b, err := message.DecodeBody([]byte(doc), message.FormGemini)
		if err != nil {
			if len(members) == 2 && members[1] == snake {
				continue // no list of messages
			}
			t.Fatal(err)
		}
		instructions, rest := b.Split()
		for keep := range 1 << len(instructions) {
			var messages []message.Message
			var kept []string
			for i := range instructions {
				if keep>>i&1 == 1 {
					messages = append(messages, instructions[i])
					kept = append(kept, message.TextOf(instructions[i].Parts))
				}
			}
			out, err := b.Append(nil, append(messages, rest...))
			if err != nil {
				t.Fatal(err)
			}
			if !json.Valid(out) {
				t.Errorf("%s without all but %q:\n%s", doc, kept, out)
				continue
			}
			again, err := message.DecodeBody(out, message.FormGemini)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			left, _ := again.Split()
			for i := range left {
				got = append(got, message.TextOf(left[i].Parts))
			}
			if strings.Join(got, ",") != strings.Join(kept, ",") || len(again.Messages) != len(got)+1 {
				t.Errorf("%s: instructions %q, want %q:\n%s", doc, got, kept, out)
			}
		}
	}
}

// The name and the calls of a message may go at once, too.
func TestNameAndCallsGo(t *testing.T) {
	for _, doc := range []string{
		`[{"role":"assistant","content":"x","name":"n","tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":"{}"}}]}]`,
		`[{"role":"assistant","tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":"{}"}}],"content":"x","name":"n"}]`,
	} {
		list, err := message.DecodeList([]byte(doc))
		if err != nil {
			t.Fatal(err)
		}
		list[0].Name, list[0].Parts = "", []message.Part{{Kind: message.Text, Text: "y"}}
		out, err := message.AppendList(nil, list, message.FormOpenAI)
		if want := `[{"role":"assistant","content":"y"}]`; err != nil || string(out) != want {
			t.Errorf("%s, %v, want %s", out, err, want)
		}
	}
}
