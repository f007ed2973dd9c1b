package core

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/anchor-host/anchor-host/internal/decode"
)

// UnmarshalJSON decodes a message of an API whose messages have these roles, such as those
// of Anthropic and OpenAI's chat. Content is a text or a list of parts. Unknown members are
// kept. Repeated keys and values of another type are errors. Role is required. Content is
// required unless there are tool calls or unknown members. On an error the message is
// unchanged.
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

// MarshalJSON writes the content as it came, a text or parts. The members in Rest follow
// the others.
func (m Message) MarshalJSON() ([]byte, error) {
	doc := struct {
		Role       Role            `json:"role"`
		Content    any             `json:"content"`
		Name       string          `json:"name,omitempty"`
		ToolCalls  json.RawMessage `json:"tool_calls,omitempty"`
		ToolCallID string          `json:"tool_call_id,omitempty"`
	}{m.Role, m.Content, m.Name, m.ToolCalls, m.ToolCallID}
	if len(m.Parts) > 0 {
		doc.Content = m.Parts
	}
	out, err := plainJSON(doc)
	if err != nil {
		return nil, err
	}
	if rest := compactJSON(m.Rest); len(rest) > 2 { // not {}
		out = append(append(out[:len(out)-1], ','), rest[1:]...)
	}
	return out, nil
}

// plainJSON is json.Marshal without the escapes for HTML. These cost tokens, and the writer
// of the whole document can add them.
func plainJSON(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}

// restOf collects the unknown members of a message.
type restOf struct{ bytes.Buffer }

func (r *restOf) add(key string, raw json.RawMessage) error {
	name, err := plainJSON(key)
	if err != nil {
		return err
	}
	if r.Len() == 0 {
		r.WriteByte('{')
	} else {
		r.WriteByte(',')
	}
	r.Write(name)
	r.WriteByte(':')
	return json.Compact(&r.Buffer, raw)
}

func (r *restOf) object() json.RawMessage {
	if r.Len() == 0 {
		return nil
	}
	r.WriteByte('}')
	return slices.Clone(r.Bytes())
}

// compactJSON returns JSON without white space.
func compactJSON(raw json.RawMessage) json.RawMessage {
	var b bytes.Buffer
	_ = json.Compact(&b, raw) // fails only if raw is not JSON
	return b.Bytes()
}
