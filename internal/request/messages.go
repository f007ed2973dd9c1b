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

// Messages is the input of a provider chain.
type Messages struct {
	// State is the state of the agent. It is nil if none was given.
	State *agent.State
	// Messages is the list, nil if none was given.
	Messages []pipeline.Message
	Budget   Budget
	Phase    agent.Phase
}

// Budget is the budget for the messages. A value of 0 was not given.
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
	Role       string  `key:"role,required" enum:"user,assistant,system,developer,tool"`
	Content    content `key:"content"`
	Name       string  `key:"name"`
	ToolCalls  calls   `key:"tool_calls"`
	ToolCallID string  `key:"tool_call_id"`
}

// messageKeys are the members of a message that are checked. All others are kept unchanged,
// because APIs add members and expect to get them back.
var messageKeys = []string{"role", "content", "name", "tool_calls", "tool_call_id"}

// UnmarshalNode checks a message. It must have content, tool calls or other members.
func (m *message) UnmarshalNode(d *strict.Decoder, n *strict.Node, path string) {
	type plain message
	var p plain
	known := *n
	known.Entries = slices.DeleteFunc(slices.Clone(n.Entries), func(e strict.Entry) bool { return !slices.Contains(messageKeys, e.Key) })
	d.Into(&known, &p, path)
	*m = message(p)
	if n.Kind != strict.Map {
		return
	}
	given := slices.ContainsFunc(n.Entries, func(e strict.Entry) bool {
		return e.Key == "content" && e.Value.Kind != strict.Null
	})
	if !given && !bool(m.ToolCalls) && len(known.Entries) == len(n.Entries) {
		d.Fail(n, path, "missing key %q", "content")
	}
}

// content is a text, or a list of parts in the form of the model's API.
type content struct{}

// UnmarshalNode checks that parts are objects with a type.
func (c *content) UnmarshalNode(d *strict.Decoder, n *strict.Node, path string) {
	if n.Kind != strict.List {
		var text string
		d.Into(n, &text, path)
		return
	}
	for i, part := range n.Items {
		at := fmt.Sprintf("%s[%d]", path, i)
		typed := slices.ContainsFunc(part.Entries, func(e strict.Entry) bool { return e.Key == "type" && e.Value.Kind == strict.String })
		if part.Kind != strict.Map || !typed {
			d.Fail(part, at, "want an object with a type, such as {\"type\": \"text\", \"text\": \"…\"}")
		}
	}
}

// calls reports whether a message has tool calls. They are a list in the form of the model's API.
type calls bool

// UnmarshalNode checks that the value is a list.
func (c *calls) UnmarshalNode(d *strict.Decoder, n *strict.Node, path string) {
	var list []any
	*c = calls(d.Into(n, &list, path))
}

// rawDocument returns the messages of a document that was already decoded strictly. The order of
// members, numbers and unknown members are kept unchanged. Whitespace is removed, so that a
// printed list has the same number of tokens when it is read again.
func rawDocument(data []byte, list bool) (messages, state []pipeline.Message, err error) {
	data = bytes.ToValidUTF8(data, []byte("\uFFFD"))
	if list {
		return messages, nil, json.Unmarshal(data, &messages)
	}
	var doc struct {
		Messages []pipeline.Message                    `json:"messages"`
		State    struct{ Messages []pipeline.Message } `json:"state"`
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
	m := &Messages{Messages: own, Budget: doc.Budget, Phase: agent.Phase(doc.Phase)}
	if m.Phase == "" {
		m.Phase = agent.Phase(doc.Budget.Phase)
	}
	if s := doc.State; s != nil {
		m.State = &agent.State{
			RunID: s.RunID, Messages: states, Observations: s.Observations,
			Reflection: s.Reflection, Data: s.Data,
		}
	}
	return m, nil
}
