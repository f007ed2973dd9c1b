package pipeline

import (
	"encoding/json"
	"fmt"
)

// provenance records that an item is a turn of the tool or the system, or a turn of the
// assistant with tool calls. Metadata can state the same, but anybody may have written
// them. Only an item with a provenance is formatted as a message of a tool or of the
// system.
type provenance struct {
	role    Role
	content string
	name    string
	callID  string
	calls   []toolCall
}

// toolCall is one call of a tool, as OpenAI ({id, function: {name, arguments}}) or as
// Anthropic ({id, name, input}) writes it.
type toolCall struct {
	ID       string `json:"id"`
	Name     string `json:"name"`
	Function struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	} `json:"function"`
	Input json.RawMessage `json:"input"`
}

func (c *toolCall) name() string {
	if c.Function.Name != "" {
		return c.Function.Name
	}
	return c.Name
}

// input returns the arguments, a JSON object.
func (c *toolCall) input() json.RawMessage {
	for _, in := range []json.RawMessage{c.Input, json.RawMessage(c.Function.Arguments)} {
		var object map[string]json.RawMessage
		if json.Unmarshal(in, &object) == nil && object != nil {
			return in
		}
	}
	return json.RawMessage("{}")
}

// SetTurn records that the item is a turn of a conversation. Formatters then write it as
// a message of the turn's role, which metadata alone do not permit for tools and for the
// system. The record counts as long as the content is that of the turn.
func (it *Item) SetTurn(t *Turn) { it.provenance = provenanceOf(t) }

// provenanceOf returns the provenance of a turn, nil for a plain one.
func provenanceOf(t *Turn) *provenance {
	m, err := t.Message()
	if err != nil || m.Role == RoleUser || m.Role == RoleAssistant && m.ToolCalls == nil {
		return nil
	}
	p := &provenance{role: m.Role, content: t.Content, name: m.Name, callID: m.ToolCallID}
	if m.Role == RoleAssistant && json.Unmarshal(m.ToolCalls, &p.calls) != nil {
		return nil
	}
	return p
}

// turn returns the provenance, nil if there is none or if the content was changed.
func (it *Item) turn() *provenance {
	if it.provenance != nil && it.provenance.content == it.Content {
		return it.provenance
	}
	return nil
}

// Message returns the turn as a message. The metadata name, tool_call_id and tool_calls
// become its fields of those names. The error is that of tool_calls that JSON cannot hold.
func (t *Turn) Message() (Message, error) {
	m := Message{Role: t.Role, Content: t.Content}
	m.Name, _ = t.Metadata["name"].(string)
	m.ToolCallID, _ = t.Metadata["tool_call_id"].(string)
	if calls := t.Metadata["tool_calls"]; calls != nil {
		data, err := json.Marshal(calls)
		if err != nil {
			return m, fmt.Errorf("turn %d: tool_calls: %w", t.Sequence, err)
		}
		m.ToolCalls = data
	}
	return m, nil
}
