package request

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"

	"github.com/anchor-host/anchor-host/internal/config"
	"github.com/anchor-host/anchor-host/internal/strict"
	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/pipeline/agent"
)

// Messages is what a provider chain is to work on.
type Messages struct {
	// State is what the agent carries; nil if none was given.
	State *agent.State
	// Messages is the list, nil if none was given.
	Messages []pipeline.Message
	Budget   Budget
	Phase    agent.Phase
}

// Budget is the room for the messages; what is 0 was not given.
type Budget struct {
	MaxTokens   int    `key:"max_tokens" min:"1"`
	MaxMessages int    `key:"max_messages" min:"1"`
	Phase       string `key:"phase" enum:"llm,synthesize"`
}

type messagesDocument struct {
	State    *agentState `key:"state"`
	Messages []message   `key:"messages"`
	Budget   Budget      `key:"budget"`
	Phase    string      `key:"phase" enum:"llm,synthesize"`
}

type agentState struct {
	RunID        string         `key:"run_id"`
	Messages     []message      `key:"messages"`
	Observations []string       `key:"observations"`
	Reflection   string         `key:"reflection"`
	Data         map[string]any `key:"data"`
}

type message struct {
	Role       string `key:"role,required" enum:"user,assistant,system,tool"`
	Content    string `key:"content"`
	Name       string `key:"name"`
	ToolCalls  calls  `key:"tool_calls"`
	ToolCallID string `key:"tool_call_id"`
}

// UnmarshalNode decodes a message, which needs content or tool calls.
func (m *message) UnmarshalNode(d *strict.Decoder, n *strict.Node, path string) {
	type plain message
	var p plain
	d.Into(n, &p, path)
	*m = message(p)
	if n.Kind != strict.Map {
		return
	}
	given := slices.ContainsFunc(n.Entries, func(e strict.Entry) bool {
		return e.Key == "content" && e.Value.Kind != strict.Null
	})
	if !given && len(m.ToolCalls) == 0 {
		d.Fail(n, path, "missing key %q", "content")
	}
}

// calls are the tool calls of a message, a list in whatever form a model's API
// has them. Order and numbers stay as they came; whitespace is left out, so that
// a list that was printed and read again counts as many tokens.
type calls json.RawMessage

// UnmarshalNode checks that it is a list; [rawCalls] has the bytes.
func (c *calls) UnmarshalNode(d *strict.Decoder, n *strict.Node, path string) {
	var list []any
	if d.Into(n, &list, path) {
		*c = calls("[]")
	}
}

// rawCalls are the tool calls of each message of a list.
type rawCalls []struct {
	ToolCalls json.RawMessage `json:"tool_calls"`
}

// rawDocument returns the tool calls of a document that was decoded strictly.
func rawDocument(data []byte, list bool) (messages, state rawCalls, err error) {
	data = bytes.ToValidUTF8(data, []byte("\uFFFD"))
	if list {
		return messages, nil, json.Unmarshal(data, &messages)
	}
	var doc struct {
		Messages rawCalls                    `json:"messages"`
		State    struct{ Messages rawCalls } `json:"state"`
	}
	err = json.Unmarshal(data, &doc)
	return doc.Messages, doc.State.Messages, err
}

// ReadMessages reads a JSON list of messages, or an object with the keys state,
// messages, budget and phase. name appears in errors, which are a
// [strict.Problems] when the document is at fault.
func ReadMessages(name string, r io.Reader) (*Messages, error) {
	data, err := readAll(name, r)
	if err != nil {
		return nil, err
	}
	n, err := strict.ParseJSON(name, data)
	if err != nil {
		return nil, err
	}
	list := n.Kind == strict.List
	if list {
		n = &strict.Node{Kind: strict.Map, Pos: n.Pos, Entries: []strict.Entry{{Key: "messages", Pos: n.Pos, Value: n}}}
	}
	var doc messagesDocument
	if err := strict.Decode(name, n, &doc); err != nil {
		return nil, err
	}
	own, states, err := rawDocument(data, list)
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", config.ErrInvalid, name, err)
	}
	m := &Messages{Messages: convertMessages(doc.Messages, own), Budget: doc.Budget, Phase: agent.Phase(doc.Phase)}
	if m.Phase == "" {
		m.Phase = agent.Phase(doc.Budget.Phase)
	}
	if s := doc.State; s != nil {
		m.State = &agent.State{
			RunID: s.RunID, Messages: convertMessages(s.Messages, states), Observations: s.Observations,
			Reflection: s.Reflection, Data: s.Data,
		}
	}
	return m, nil
}

func convertMessages(list []message, raw rawCalls) []pipeline.Message {
	if list == nil {
		return nil
	}
	out := make([]pipeline.Message, len(list))
	for i, m := range list {
		out[i] = pipeline.Message{
			Role: pipeline.Role(m.Role), Content: m.Content, Name: m.Name,
			ToolCallID: m.ToolCallID,
		}
		if m.ToolCalls != nil {
			out[i].ToolCalls = compact(raw[i].ToolCalls)
		}
	}
	return out
}

func compact(raw json.RawMessage) json.RawMessage {
	var b bytes.Buffer
	_ = json.Compact(&b, raw) // fails only for what is not JSON
	return b.Bytes()
}
