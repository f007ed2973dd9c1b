package core

import (
	"encoding/json"
	"fmt"
)

// SetTurn records that the item is a turn of a conversation. Formatters then write it as
// a message of the turn's role, which metadata alone do not permit for tools and for the
// system. The record counts as long as the content is that of the turn.
func (it *Item) SetTurn(t *Turn) {
	it.turn = nil
	m, err := t.Message()
	if err != nil || m.Role == RoleUser || m.Role == RoleAssistant && m.ToolCalls == nil {
		return // a plain turn needs no permission
	}
	it.turn = &m
}

// Turn returns the turn that SetTurn recorded: one of a tool or of the system, or one of
// the assistant with tool calls. It is nil if there is none, or if the content was
// changed since. Metadata can state the same, but anybody may have written them.
// The message must not be changed.
func (it *Item) Turn() *Message {
	if it.turn != nil && it.turn.Content == it.Content {
		return it.turn
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
