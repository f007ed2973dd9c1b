package core

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/anchor-host/anchor-host/pipeline/internal/decode"
)

// DefaultMessageOverhead is the number of tokens a message takes beside its texts: what
// models of the OpenAI family use for role and separators.
const DefaultMessageOverhead = 3

// Message is one entry of the message list an agent loop sends to a model.
type Message struct {
	Role    Role   `json:"role"`
	Content string `json:"content"`
	// Name tells speakers of one role apart; of a tool message it is the tool.
	Name string `json:"name,omitempty"`
	// ToolCalls is a JSON array of the calls an assistant asks for, each with an
	// "id", in whatever form the model's API has them.
	ToolCalls json.RawMessage `json:"tool_calls,omitempty"`
	// ToolCallID says which call a tool message answers.
	ToolCallID string `json:"tool_call_id,omitempty"`
}

// CloneMessages returns a deep copy of messages; nil stays nil.
func CloneMessages(messages []Message) []Message {
	out := slices.Clone(messages)
	for i := range out {
		out[i].ToolCalls = slices.Clone(out[i].ToolCalls)
	}
	return out
}

// Equal reports whether two messages are the same, byte for byte.
func (m *Message) Equal(o *Message) bool {
	return m.Role == o.Role && m.Name == o.Name && m.ToolCallID == o.ToolCallID &&
		m.Content == o.Content && string(m.ToolCalls) == string(o.ToolCalls)
}

var messageKeys = []string{"role", "content", "name", "tool_calls", "tool_call_id"}

// UnmarshalJSON decodes a message strictly: unknown and repeated keys and values of
// another type are errors. Role is required, and content too unless there are tool
// calls. On an error the message is unchanged.
func (m *Message) UnmarshalJSON(data []byte) error {
	var doc Message
	hasContent := false
	err := decode.Object(data, func(key string, raw json.RawMessage) error {
		if decode.IsNull(raw) && key != "role" {
			return decode.CheckKey(key, messageKeys, false)
		}
		switch key {
		case "role":
			return decode.String(raw, (*string)(&doc.Role))
		case "content":
			hasContent = true
			return decode.String(raw, &doc.Content)
		case "name":
			return decode.String(raw, &doc.Name)
		case "tool_calls":
			doc.ToolCalls = slices.Clone(raw)
			return nil
		case "tool_call_id":
			return decode.String(raw, &doc.ToolCallID)
		}
		return decode.UnknownKey(messageKeys...)
	})
	if err == nil {
		err = doc.Validate()
	}
	switch {
	case err != nil:
		return fmt.Errorf("message: %w", err)
	case !hasContent && len(doc.ToolCalls) == 0:
		return fmt.Errorf("message: content: missing: %w", ErrInvalid)
	}
	*m = doc
	return nil
}

// Validate checks the role, and that the tool calls are a JSON array.
func (m *Message) Validate() error {
	if !m.Role.Valid() {
		return fmt.Errorf("role %.100q: %w (want user, assistant, system or tool)", m.Role, ErrInvalid)
	}
	if len(m.ToolCalls) > 0 && (m.ToolCalls[0] != '[' || !json.Valid(m.ToolCalls)) {
		return fmt.Errorf("tool_calls: %.20s: %w (want a JSON array)", m.ToolCalls, ErrInvalid)
	}
	return nil
}
