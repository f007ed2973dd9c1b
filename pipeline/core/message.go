package core

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/anchor-host/anchor-host/internal/decode"
)

// DefaultMessageOverhead is the number of tokens that a message takes besides its texts.
// Models of the OpenAI family use so many for the role and the separators.
const DefaultMessageOverhead = 3

// Message is one entry of the message list that an agent loop sends to a model. Members
// that this type does not know are kept as they came.
type Message struct {
	// Role is one of the four roles, or RoleDeveloper.
	Role Role `json:"role"`
	// Content is the text of a message without Parts.
	Content string `json:"content"`
	// Parts is a content that is not a text, as it came: null, or a JSON array of parts,
	// such as texts, images, and calls and results of tools. It is nil if the content is a
	// text.
	Parts json.RawMessage `json:"-"`
	// Name distinguishes speakers of one role. In a tool message it is the name of the
	// tool.
	Name string `json:"name,omitempty"`
	// ToolCalls is a JSON array of the calls an assistant asks for, each with an "id", in
	// the form of the model's API.
	ToolCalls json.RawMessage `json:"tool_calls,omitempty"`
	// ToolCallID says which call a tool message answers.
	ToolCallID string `json:"tool_call_id,omitempty"`
	// Rest is a JSON object of all other members of the message, such as refusal or
	// annotations. It is nil if there are none.
	Rest json.RawMessage `json:"-"`
}

// CloneMessages returns a deep copy of messages; nil stays nil.
func CloneMessages(messages []Message) []Message {
	out := slices.Clone(messages)
	for i := range out {
		m := &out[i]
		m.ToolCalls, m.Parts, m.Rest = slices.Clone(m.ToolCalls), slices.Clone(m.Parts), slices.Clone(m.Rest)
	}
	return out
}

// Equal reports whether two messages are the same, byte for byte.
func (m *Message) Equal(o *Message) bool {
	return m.Role == o.Role && m.Name == o.Name && m.ToolCallID == o.ToolCallID &&
		m.Content == o.Content && string(m.ToolCalls) == string(o.ToolCalls) &&
		string(m.Parts) == string(o.Parts) && string(m.Rest) == string(o.Rest)
}

// Validate checks the role, that the tool calls are a JSON array, that the parts are
// objects with a type, and that Rest is a JSON object of other members. No member of an
// object may be given twice.
func (m *Message) Validate() error {
	if !m.Role.Valid() && m.Role != RoleDeveloper {
		return fmt.Errorf("role %.100q: %w (want user, assistant, system, developer or tool)", m.Role, ErrInvalid)
	}
	if len(m.ToolCalls) > 0 {
		if m.ToolCalls[0] != '[' || !json.Valid(m.ToolCalls) {
			return fmt.Errorf("tool_calls: %.20s: %w (want a JSON array)", m.ToolCalls, ErrInvalid)
		}
		if err := decode.Free("tool_calls", m.ToolCalls); err != nil {
			return err
		}
	}
	if len(m.Rest) > 0 {
		if err := checkRest(m.Rest); err != nil {
			return fmt.Errorf("rest: %w", err)
		}
	}
	return checkParts(m.Parts)
}

// checkRest refuses anything but a JSON object, and members that the message itself has.
func checkRest(raw json.RawMessage) error {
	if raw[0] != '{' || !json.Valid(raw) {
		return fmt.Errorf("%.20s: %w (want a JSON object)", raw, ErrInvalid)
	}
	return decode.Open(raw, func(key string, _ json.RawMessage) error {
		switch key {
		case "role", "content", "name", "tool_calls", "tool_call_id":
			return fmt.Errorf("a member of the message itself: %w", ErrInvalid)
		}
		return nil
	})
}

// checkParts refuses a content that is not a list of objects with a type. It also refuses a
// member that is given twice, because only one of the two texts would be counted.
func checkParts(raw json.RawMessage) error {
	if len(raw) == 0 || string(raw) == "null" {
		return nil
	}
	var parts []json.RawMessage
	if err := decode.Value("content", raw, &parts); err != nil {
		return err
	}
	for i, part := range parts {
		err := decode.Open(part, func(string, json.RawMessage) error { return nil }, decode.Required("type", new(string)))
		if err != nil {
			return fmt.Errorf("content[%d]: %w", i, err)
		}
	}
	return nil
}
