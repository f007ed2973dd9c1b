package core

import (
	"encoding/json"
	"strings"
)

// MediaTokens is the number of tokens that a part with an image, a document or sound counts
// as: about the cost of a large image. The size of such a part says nothing about its
// tokens.
const MediaTokens = 1600

// messagePart has the members of a part that the chain reads, as the APIs of Anthropic and
// OpenAI write them.
type messagePart struct {
	Type, ID, ToolUseID string
	Text, Refusal       *string
	Content             json.RawMessage // of a result
	members             map[string]json.RawMessage
}

// parts returns the parts of a message; nil if it has none, or if they cannot be read.
func (m *Message) parts() (list []json.RawMessage) {
	if len(m.Parts) > 0 && json.Unmarshal(m.Parts, &list) != nil {
		return nil
	}
	return list
}

// readPart reads the members of a part that it can read. Keys are case-sensitive, as they
// are for the APIs, so that every text that an API reads is counted.
func readPart(raw json.RawMessage) (p messagePart) {
	_ = json.Unmarshal(raw, &p.members) // anything but an object has no members
	p.Type, p.ID, p.ToolUseID = p.string("type"), p.string("id"), p.string("tool_use_id")
	p.Text, p.Refusal = stringOf(p.members["text"]), stringOf(p.members["refusal"])
	p.Content = p.members["content"]
	return p
}

// string returns a member that is a string, and "" for any other.
func (p *messagePart) string(key string) string {
	if s := stringOf(p.members[key]); s != nil {
		return *s
	}
	return ""
}

// stringOf reads a JSON string. It returns nil for any other value.
func stringOf(raw json.RawMessage) *string {
	var s string
	if len(raw) == 0 || raw[0] != '"' || json.Unmarshal(raw, &s) != nil {
		return nil
	}
	return &s
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
	return partsText(m.parts(), false)
}

// partsText returns the text of parts. It does not read a result inside of another result:
// no API accepts one, and each level would be read several times.
func partsText(parts []json.RawMessage, inside bool) string {
	var lines []string
	for _, raw := range parts {
		p := readPart(raw)
		text, ok := p.text()
		switch {
		case ok:
		case p.Type == "tool_result" && !inside:
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

// contentText returns the text of a result's content, which is a string or a list of parts.
func contentText(raw json.RawMessage) string {
	if text := stringOf(raw); text != nil {
		return *text
	}
	var parts []json.RawMessage
	_ = json.Unmarshal(raw, &parts) // a content that cannot be read has no text
	return partsText(parts, true)
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
		_ = json.Unmarshal(m.ToolCalls, &calls) // calls that cannot be read are left out
		uses = append(calls, uses...)
	}
	data, err := plainJSON(uses)
	if err != nil {
		return m.ToolCalls
	}
	return data
}

// ResultIDs returns the ids of the calls that a message answers: the ToolCallID of a tool
// message, and the ids in parts of type tool_result.
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

// ToolResult is the result of a tool in a message.
type ToolResult struct {
	// ID is the id of the call that it answers. It is empty if the result names no call.
	ID string
	// Text is the text of the result, see [Message.Text].
	Text string
}

// Results returns the results of tools in a message, in order.
func (m *Message) Results() (results []ToolResult) {
	if m.Role == RoleTool {
		return []ToolResult{{m.ToolCallID, m.Text()}}
	}
	for _, raw := range m.parts() {
		if p := readPart(raw); p.Type == "tool_result" {
			results = append(results, ToolResult{p.ToolUseID, contentText(p.Content)})
		}
	}
	return results
}

// OnlyAnswers reports whether a message holds results of tools and no text of its sender.
func (m *Message) OnlyAnswers() bool {
	parts := m.parts()
	if m.Role == RoleTool || len(parts) == 0 {
		return m.Role == RoleTool
	}
	for _, raw := range parts {
		if p := readPart(raw); p.Type != "tool_result" {
			return false
		}
	}
	return true
}

// CountedTexts calls text for each text of a message that costs tokens, and returns the
// tokens of its media.
func (m *Message) CountedTexts(text func(string)) (media int) {
	for _, s := range [...]string{m.Content, m.Name, m.ToolCallID} {
		text(s)
	}
	text(string(m.ToolCalls))
	text(string(m.Rest))
	return countParts(m.parts(), text, false)
}

// countParts is CountedTexts for parts. It reads the content of a result or of a document
// one level deep. Anything deeper is counted as JSON text.
func countParts(parts []json.RawMessage, text func(string), inside bool) (media int) {
	for _, raw := range parts {
		p := readPart(raw)
		s, ok := p.text()
		switch {
		case ok:
			text(s)
		case p.Type == "tool_result" && !inside && len(p.Content) > 0:
			text(p.ToolUseID)
			media += countContent(p.Content, text)
		case p.isMedia():
			media += MediaTokens + countMediaTexts(&p, text, inside)
		default:
			text(string(raw))
		}
	}
	return media
}

// countContent counts a content inside of a part: a string, or a list of parts.
func countContent(raw json.RawMessage, text func(string)) (media int) {
	var inner []json.RawMessage
	switch s := stringOf(raw); {
	case s != nil:
		text(*s)
	case json.Unmarshal(raw, &inner) == nil:
		return countParts(inner, text, true)
	default:
		text(string(raw))
	}
	return 0
}

// countMediaTexts counts the plain texts of a document, in addition to its media.
func countMediaTexts(p *messagePart, text func(string), inside bool) (media int) {
	for _, key := range [...]string{"text", "title", "context"} {
		text(p.string(key))
	}
	text(string(p.members["document"]))
	source := readPart(p.members["source"])
	switch {
	case source.Type == "text":
		text(source.string("data"))
	case source.Type == "content" && !inside:
		return countContent(source.Content, text)
	case source.Type == "content":
		text(string(source.Content))
	}
	return 0
}
