package core

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/anchor-host/anchor-host/internal/decode"
)

// DefaultMessageOverhead is the number of tokens a message takes beside its texts: what
// models of the OpenAI family use for role and separators.
const DefaultMessageOverhead = 3

// Message is one entry of the message list an agent loop sends to a model. What is not
// known here comes out as it went in.
type Message struct {
	// Role is one of the four roles, or RoleDeveloper.
	Role Role `json:"role"`
	// Content is the text of a message without Parts.
	Content string `json:"content"`
	// Parts is a content that is no text, as it came: a JSON array of parts, such as
	// texts, images, and calls and results of tools, or null. nil for a text.
	Parts json.RawMessage `json:"-"`
	// Name tells speakers of one role apart; of a tool message it is the tool.
	Name string `json:"name,omitempty"`
	// ToolCalls is a JSON array of the calls an assistant asks for, each with an
	// "id", in whatever form the model's API has them.
	ToolCalls json.RawMessage `json:"tool_calls,omitempty"`
	// ToolCallID says which call a tool message answers.
	ToolCallID string `json:"tool_call_id,omitempty"`
	// Rest is a JSON object of all other members of the message, such as refusal or
	// annotations. nil for none.
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

// UnmarshalJSON decodes a message of an API whose messages have these roles, such as those
// of Anthropic and OpenAI's chat. Content is a text or a list of parts;
// members that are not known are kept. Repeated keys and values of another type are
// errors. Role is required, and content too unless there are tool calls or members that
// are not known. On an error the message is unchanged.
func (m *Message) UnmarshalJSON(data []byte) error {
	var doc Message
	var rest restOf
	hasContent := false
	err := decode.Open(data, func(name string, value json.RawMessage) error {
		if name != "content" {
			return rest.add(name, value)
		}
		if hasContent = string(value) != "null"; hasContent && value[0] != '[' {
			return decode.Value("", value, &doc.Content)
		}
		doc.Parts = compactJSON(value)
		return nil
	}, decode.Required("role", (*string)(&doc.Role)), decode.Optional("name", &doc.Name),
		decode.Optional("tool_calls", &doc.ToolCalls), decode.Optional("tool_call_id", &doc.ToolCallID))
	if len(doc.ToolCalls) > 0 {
		doc.ToolCalls = compactJSON(doc.ToolCalls)
	}
	doc.Rest = rest.object()
	if err == nil {
		err = doc.Validate()
	}
	switch {
	case err != nil:
		return fmt.Errorf("message: %w", err)
	case !hasContent && len(doc.ToolCalls) == 0 && len(doc.Rest) == 0:
		return fmt.Errorf("message: content: missing: %w", ErrInvalid)
	}
	*m = doc
	return nil
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

// checkRest refuses what is no JSON object, and members that a message has already.
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
