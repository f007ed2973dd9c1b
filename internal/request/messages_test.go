package request

import (
	"context"
	"fmt"
	"reflect"
	"testing"

	"github.com/anchor-host/anchor-host/pipeline/agent"
)

func ExampleReadMessages() {
	m, err := ReadMessages(context.Background(), "messages.json", []byte(`[{"role": "user", "content": "hi"}]`), 1000)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(len(m.Messages), m.State == nil)

	_, err = ReadMessages(context.Background(), "messages.json", []byte(`[{"role": "usr"}]`), 1000)
	fmt.Println(err)
	// Output:
	// 1 true
	// messages.json: messages[0].role: "usr": invalid value (want user, assistant, system, developer or tool)
}

func TestReadMessages(t *testing.T) {
	m, err := ReadMessages(t.Context(), "m", []byte(`{
	  "state": {"run_id": "r", "observations": ["saw"], "reflection": "so", "data": {"n": 9007199254740993},
	    "messages": [{"role": "assistant", "tool_calls": [{"z": 1.50, "a": "<b>"}]}]},
	  "messages": [{"role": "tool", "content": "", "name": "ls", "tool_call_id": "1"}],
	  "budget": {"max_tokens": 5, "max_messages": 2, "phase": "synthesize"}}`), 1000)
	if err != nil {
		t.Fatal(err)
	}
	want := &Messages{
		State: &agent.State{
			RunID: "r", Observations: []string{"saw"}, Reflection: "so", Data: map[string]any{"n": int64(9007199254740993)},
			Messages: m.State.Messages,
		},
		Messages: m.Messages,
		Budget:   Budget{MaxTokens: 5, MaxMessages: 2, Phase: "synthesize"}, Phase: agent.PhaseSynthesize,
	}
	if !reflect.DeepEqual(m, want) {
		t.Errorf("got  %+v\nwant %+v", m, want)
	}
	for i, raw := range []string{`{"role": "assistant", "tool_calls": [{"z": 1.50, "a": "<b>"}]}`, `{"role": "tool", "content": "", "name": "ls", "tool_call_id": "1"}`} {
		if list := append(m.State.Messages, m.Messages...); len(list) != 2 || list[i].Raw() != raw {
			t.Errorf("message %d: %+v", i, list)
		}
	}
}

func TestReadMessagesErrors(t *testing.T) {
	for doc, want := range map[string]string{
		``:                              `m:1:1: the document is empty (want a JSON object)`,
		`{"messages": null}`:            `m: messages: null (want a list of messages)`,
		`{"state": {"messages": null}}`: `m: state.messages: null (want a list of messages)`,
		"{\"messages\": [{\"role\": \"user\", \"content\": \"a\xff\"}]}": `m: messages[0].content: byte 30 is not UTF-8`,
		"{\"messages\": [],\n\"state\": {\"reflection\": \"\xff\"}}":     `m: line 2: a byte that is not UTF-8`,
		`{"mesages": []}`:                                    `m:1:2: mesages: unknown key (did you mean "messages"?)`,
		`[{"role": "user", "content": 1}]`:                   `m: messages[0].content: 1: invalid value (want a text or a list of parts)`,
		`[{"role": "assistant", "tool_calls": {}}]`:          `m: messages[0].tool_calls: {}: invalid value (want a list of calls)`,
		`[{"role": "user", "content": ["a"]}]`:               `m: messages[0].content[0]: "a": invalid value (want an object such as {"type": "text", "text": "…"})`,
		`[{"role": "user", "contnt": "a", "content": null}]`: "",
		`[null]`: `m: messages[0]: null: invalid value (want an object)`,
		`{"messages": [{"role": "user", "content": ""}, 7]}`: `m: messages[1]: 7: invalid value (want an object)`,
		`{"state": {"messages": [7]}}`:                       `m: state.messages[0]: 7: invalid value (want an object)`,
		`{"messages": 7}`:                                    `m:1:14: messages: want a list, got 7`,
		"{\"messages\": [\n\"\u00e9\"], \"phase\": 7}":       `m:2:16: phase: want a string, got 7 (write "7")`,
		`{"budget": {"max_tokens": 0}}`:                      `m:1:27: budget.max_tokens: want 1 or more, got 0`,
		`{"phase": "llmm"}`:                                  `m:1:11: phase: unknown value "llmm" (did you mean "llm"?)`,
	} {
		if _, err := ReadMessages(t.Context(), "m", []byte(doc), 1000); want == "" && err != nil || want != "" && (err == nil || err.Error() != want) {
			t.Errorf("%s\ngot  %v\nwant %s", doc, err, want)
		}
	}
}

// The invariant: messages or an error, and what is accepted is valid.
func FuzzReadMessages(f *testing.F) {
	f.Add(`[{"role": "assistant", "content": "a", "tool_calls": [1]}]`)
	f.Add(`{"state": {"messages": [{"role": "user", "content": ""}]}, "messages": null}`)
	f.Fuzz(func(t *testing.T, doc string) {
		m, err := ReadMessages(t.Context(), "m", []byte(doc), 1000)
		if (m == nil) == (err == nil) {
			t.Fatalf("messages %v, error %v: want exactly one", m, err)
		}
		if err != nil {
			return
		}
		state := agent.State{Messages: m.Messages}
		if err := state.Validate(); err != nil {
			t.Fatalf("accepted messages are not valid: %v", err)
		}
		if m.State != nil {
			if err := m.State.Validate(); err != nil {
				t.Fatalf("accepted state is not valid: %v", err)
			}
		}
	})
}
