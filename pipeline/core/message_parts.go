package core

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/anchor-host/anchor-host/pipeline/internal/decode"
)

// MediaTokens is what a part with an image, a document or sound counts: about what a
// large image costs. Its bytes say nothing about its tokens.
const MediaTokens = 1600

// messagePart is what the chain reads of a part, as the APIs of Anthropic and OpenAI
// write it. Everything else in it is left alone.
type messagePart struct {
	Type      string          `json:"type"`
	Text      *string         `json:"text"`
	Refusal   *string         `json:"refusal"`
	ID        string          `json:"id"`
	ToolUseID string          `json:"tool_use_id"`
	Content   json.RawMessage `json:"content"`
}

// parts returns the parts of a message; nil if it has none, or if they cannot be read.
func (m *Message) parts() (list []json.RawMessage) {
	if len(m.Parts) > 0 && json.Unmarshal(m.Parts, &list) != nil {
		return nil
	}
	return list
}

// readPart reads a part as far as it can be read.
func readPart(raw json.RawMessage) (p messagePart) {
	_ = json.Unmarshal(raw, &p) // members of another type are left out
	return p
}

// text returns the text of a part, and whether it is one of text.
func (p *messagePart) text() (string, bool) {
	switch {
	case p.Text != nil && strings.HasSuffix(p.Type, "text"): // text, input_text, output_text
		return *p.Text, true
	case p.Refusal != nil && p.Type == "refusal":
		return *p.Refusal, true
	}
	return "", false
}

// isMedia reports whether a part is an image, a document, sound or moving images.
func (p *messagePart) isMedia() bool {
	for _, kind := range [...]string{"image", "document", "file", "audio", "video"} {
		if strings.Contains(p.Type, kind) {
			return true
		}
	}
	return false
}

// Instructs reports whether a message is one of the system or of the developer.
func (m *Message) Instructs() bool { return m.Role == RoleSystem || m.Role == RoleDeveloper }

// Text returns what the message says: Content, or the texts of its parts and of the
// results of tools in them, one below the other. Media are named in brackets.
func (m *Message) Text() string {
	if len(m.Parts) == 0 {
		return m.Content
	}
	return partsText(m.parts())
}

func partsText(parts []json.RawMessage) string {
	var lines []string
	for _, raw := range parts {
		p := readPart(raw)
		text, ok := p.text()
		switch {
		case ok:
		case p.Type == "tool_result":
			text = contentText(p.Content)
		case p.isMedia():
			text = "[" + p.Type + "]"
		}
		if text != "" {
			lines = append(lines, text)
		}
	}
	return strings.Join(lines, "\n")
}

// contentText is the text of a content: a string, or a list of parts.
func contentText(raw json.RawMessage) string {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text
	}
	var parts []json.RawMessage
	_ = json.Unmarshal(raw, &parts) // what cannot be read says nothing
	return partsText(parts)
}

// Calls returns the calls of tools in a message as a JSON array, nil for none: ToolCalls,
// or the parts of type tool_use.
func (m *Message) Calls() json.RawMessage {
	var uses []json.RawMessage
	for _, raw := range m.parts() {
		if p := readPart(raw); p.Type == "tool_use" {
			uses = append(uses, raw)
		}
	}
	if len(uses) == 0 {
		return m.ToolCalls
	}
	if len(m.ToolCalls) > 0 {
		var calls []json.RawMessage
		_ = json.Unmarshal(m.ToolCalls, &calls) // what cannot be read is left out
		uses = append(calls, uses...)
	}
	data, err := json.Marshal(uses)
	if err != nil {
		return m.ToolCalls
	}
	return data
}

// ResultIDs returns the ids of the calls that a message answers: ToolCallID of a tool
// message, and those of parts of type tool_result.
func (m *Message) ResultIDs() (ids []string) {
	if m.Role == RoleTool && m.ToolCallID != "" {
		ids = append(ids, m.ToolCallID)
	}
	for _, raw := range m.parts() {
		if p := readPart(raw); p.Type == "tool_result" {
			ids = append(ids, p.ToolUseID)
		}
	}
	return ids
}

// checkParts refuses a content that is no list of objects with a type.
func checkParts(raw json.RawMessage) error {
	if len(raw) == 0 || decode.IsNull(raw) {
		return nil
	}
	var parts []struct {
		Type *string `json:"type"`
	}
	if json.Unmarshal(raw, &parts) != nil {
		return fmt.Errorf("content: %.20s: %w (want a string, or a list of parts)", raw, ErrInvalid)
	}
	for i := range parts {
		if parts[i].Type == nil {
			return fmt.Errorf("content: part %d: type: missing: %w", i, ErrInvalid)
		}
	}
	return nil
}

// CountedTexts calls text for each text of a message that costs tokens, and returns the
// tokens of its media.
func (m *Message) CountedTexts(text func(string)) (media int) {
	for _, s := range [...]string{m.Content, m.Name, m.ToolCallID} {
		text(s)
	}
	text(string(m.ToolCalls))
	text(string(m.Rest))
	return countParts(m.parts(), text)
}

func countParts(parts []json.RawMessage, text func(string)) (media int) {
	for _, raw := range parts {
		p := readPart(raw)
		s, ok := p.text()
		var inner []json.RawMessage
		switch {
		case ok:
			text(s)
		case p.Type == "tool_result" && json.Unmarshal(p.Content, &inner) == nil:
			text(p.ToolUseID)
			media += countParts(inner, text)
		case p.isMedia():
			media += MediaTokens
		default:
			text(string(raw))
		}
	}
	return media
}

// MarshalJSON writes the content as it came, text or parts, and the members in Rest after
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
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false) // that is for the writer of the whole document to say
	if err := enc.Encode(doc); err != nil {
		return nil, err
	}
	out := bytes.TrimSuffix(b.Bytes(), []byte("\n"))
	if rest := bytes.TrimSpace(m.Rest); len(rest) > 2 {
		out = append(append(out[:len(out)-1], ','), rest[1:]...)
	}
	return out, nil
}

// restOf collects the members of a message that the chain does not know.
type restOf struct{ bytes.Buffer }

func (r *restOf) add(key string, raw json.RawMessage) error {
	name, err := json.Marshal(key)
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
	_ = json.Compact(&b, raw) // fails only for what is not JSON
	return b.Bytes()
}
