package core

import (
	"encoding/json"
	"fmt"
)

// SetTurn records that the item is a turn of a conversation. Formatters then write it as a
// message of the turn's role. Metadata alone do not permit the roles tool and system. The
// record is valid as long as the content of the item is the content of the turn.
func (it *Item) SetTurn(t *Turn) {
	it.turn = nil
	m, err := t.Message()
	if err != nil || m.Role == RoleUser || m.Role == RoleAssistant && m.ToolCalls == nil {
		return // a plain turn needs no permission
	}
	it.turn = &m
}

// Turn returns the turn that SetTurn recorded: one of a tool or of the system, or one of
// the assistant with tool calls. It is nil if there is none, or if the content has changed
// since. Metadata can hold the same values, but any step may have written those. The
// message must not be changed.
func (it *Item) Turn() *Message {
	if it.turn != nil && it.turn.Content == it.Content {
		return it.turn
	}
	return nil
}

// Message returns the turn as a message. The metadata name, tool_call_id and tool_calls
// become the fields of the same names. The call fails if tool_calls cannot be written as
// JSON.
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
