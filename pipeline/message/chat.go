package message

import (
	"fmt"
	"slices"
	"strings"
)

// chat reads a message of Anthropic, of OpenAI's chat or of the Responses API. kind is its type,
// which only that API has.
func (c *codec) chat(root int32, kind string) error {
	if err := c.role(root); err != nil {
		return err
	}
	m := c.m
	var err error
	if m.Name, err = c.text(root, "name"); err != nil {
		return err
	}
	content := c.index(root, "content")
	if content != none {
		if m.Parts, err = c.list(content, c.chatPart); err != nil {
			return err
		}
	}
	if m.Role == RoleTool {
		return c.toolMessage(root)
	}
	if refusal := c.tree.member(root, "refusal"); refusal != nil && m.Role == RoleAssistant {
		text, err := refusal.text()
		if err != nil {
			return err
		}
		m.Parts = append(m.Parts, Part{Kind: Refusal, Text: text, raw: refusal.raw, at: refusal.at - c.base, place: inString})
	}
	if calls := c.index(root, "tool_calls"); calls != none {
		if n := &c.tree.nodes[calls]; n.kind() != '[' {
			return inside("tool_calls", wrong(n.raw, "a list of calls"))
		}
		parts, err := c.list(calls, c.chatCall)
		if err != nil {
			return err
		}
		m.Parts = append(m.Parts, parts...)
	}
	if m.origin.form = chatForm(m, kind); m.origin.form == FormAny && c.echoed(root) {
		m.origin.form = FormOpenAI
	}
	if m.origin.form == FormResponses {
		c.others(root, "type", "role", "content", "name", "tool_calls", "refusal", "id", "status")
	} else {
		c.others(root, "role", "content", "name", "tool_calls", "refusal")
	}
	if c.index(root, "function_call") != none && m.Role == RoleAssistant {
		m.origin.refers = true
	}
	if len(m.Parts) == 0 && content == none && len(m.origin.others) == 0 {
		return inside("content", fmt.Errorf("missing: %w", ErrInvalid))
	}
	return nil
}

// echoed reports whether a message has members that only OpenAI's chat gives it, even if they are
// null: no other API takes "refusal": null.
func (c *codec) echoed(root int32) bool {
	for i := c.tree.nodes[root].kid; i != none; i = c.tree.nodes[i].next {
		switch c.tree.nodes[i].name {
		case "refusal", "annotations", "audio", "function_call", "tool_calls", "name":
			return true
		}
	}
	return false
}

// toolMessage makes the contents of a message of the role tool the contents of one result.
func (c *codec) toolMessage(root int32) error {
	id, err := c.text(root, "tool_call_id")
	if err != nil {
		return err
	}
	m := c.m
	n := &c.tree.nodes[root]
	m.Parts = []Part{{Kind: ToolResult, ID: id, Name: m.Name, Parts: m.Parts, raw: n.raw, place: inMessage}}
	m.Name = ""
	m.origin.form = FormOpenAI
	c.others(root, "role", "content", "name", "tool_call_id")
	return nil
}

// chatForm returns the form of a message by what only one API has.
func chatForm(m *Message, kind string) Form {
	if kind == "" && m.Name != "" {
		return FormOpenAI
	}
	for i := range m.Parts {
		switch p := &m.Parts[i]; p.place {
		case inAnthropic:
			return FormAnthropic
		case inOpenAI, inCalls:
			return FormOpenAI
		case inResponses:
			return FormResponses
		case inChat:
			kind = "" // such as a response of Anthropic
		case inString:
			if p.Kind == Refusal {
				return FormOpenAI
			}
		}
	}
	switch {
	case kind != "":
		return FormResponses
	case m.Role == RoleDeveloper || slices.ContainsFunc(m.Parts, func(p Part) bool { return p.place == inRefusal }):
		return FormOpenAI
	}
	return FormAny
}

// chatCall reads a call of OpenAI's chat.
func (c *codec) chatCall(i int32) (Part, error) {
	p := Part{Kind: ToolCall, place: inCalls}
	var err error
	if p.ID, err = c.text(i, "id"); err != nil {
		return p, err
	}
	for _, of := range [...]string{"function", "custom"} {
		if f := c.index(i, of); f != none && c.tree.nodes[f].kind() == '{' {
			p.Name, p.Arguments = c.some(f, "name"), c.some(f, "arguments", "input")
		}
	}
	return p, nil
}

// chatPart reads a part of Anthropic, of OpenAI's chat or of the Responses API. Their types
// differ, so only a text can be of two APIs.
func (c *codec) chatPart(i int32) (p Part, err error) {
	n := c.tree.member(i, "type")
	if n == nil {
		return Part{}, inside("type", fmt.Errorf("missing: %w (want a type, such as \"text\")", ErrInvalid))
	}
	kind, err := n.text()
	if err != nil {
		return Part{}, err
	}
	switch kind {
	case "text":
		p = Part{Kind: Text, place: inChat}
		p.Text, err = c.text(i, "text")
	case "input_text", "output_text":
		p = Part{Kind: Text, place: inResponses}
		p.Text, err = c.text(i, "text")
	case "refusal":
		p = Part{Kind: Refusal, place: inRefusal}
		p.Text, err = c.text(i, "refusal")
	case "thinking", "redacted_thinking", "compaction":
		p = Part{Kind: Thinking, place: inAnthropic}
	case "reasoning":
		p = Part{Kind: Thinking, place: inOther}
	case "tool_use":
		return c.toolUse(i)
	case "tool_result":
		return c.toolResult(i)
	case "image":
		return c.media(Image, inAnthropic, i)
	case "image_url":
		return c.media(Image, inOpenAI, i)
	case "input_image":
		return c.media(Image, inResponses, i)
	case "document":
		return c.media(Document, inAnthropic, i)
	case "file":
		return c.media(Document, inOpenAI, i)
	case "input_file":
		return c.media(Document, inResponses, i)
	case "audio", "input_audio":
		return c.media(Audio, inOpenAI, i)
	default:
		p = Part{Kind: Unknown, place: inOther}
		switch { // what the API of Anthropic runs by itself
		case strings.HasSuffix(kind, "_tool_use"):
			c.link(c.some(i, "id"))
		case strings.HasSuffix(kind, "_tool_result"):
			c.link(c.some(i, "tool_use_id"))
		}
	}
	return p, err
}

func (c *codec) toolUse(i int32) (p Part, err error) {
	p.Kind, p.place = ToolCall, inAnthropic
	if p.ID, err = c.text(i, "id"); err != nil {
		return p, err
	}
	if p.Name, err = c.text(i, "name"); err != nil {
		return p, err
	}
	if input := c.tree.member(i, "input"); input != nil {
		p.Arguments = input.raw
	}
	if caller := c.index(i, "caller"); caller != none && c.tree.nodes[caller].kind() == '{' {
		c.link(c.some(caller, "tool_id"))
	}
	return p, nil
}

func (c *codec) toolResult(i int32) (p Part, err error) {
	p.Kind, p.place = ToolResult, inAnthropic
	if p.ID, err = c.text(i, "tool_use_id"); err != nil {
		return p, err
	}
	if failed := c.tree.member(i, "is_error"); failed != nil {
		p.Failed = failed.raw == "true"
	}
	if content := c.index(i, "content"); content != none {
		p.Parts, err = c.list(content, c.chatPart)
	}
	return p, err
}

// media reads an image, a document or sound.
func (c *codec) media(kind Kind, place place, i int32) (Part, error) {
	m := &Media{Title: c.some(i, "title", "filename"), Detail: c.some(i, "detail"), FileID: c.some(i, "file_id")}
	p := Part{Kind: kind, Media: m, place: place}
	m.setURL(c.some(i, "image_url", "file_url"))
	m.setData(c.some(i, "file_data"))
	for _, of := range [...]string{"source", "image_url", "file", "input_audio"} {
		from := c.index(i, of)
		if from == none || c.tree.nodes[from].kind() != '{' {
			continue
		}
		if err := c.source(&p, from); err != nil {
			return p, inside(of, err)
		}
	}
	return p, nil
}

// source reads where a medium comes from.
func (c *codec) source(p *Part, from int32) (err error) {
	m := p.Media
	switch c.some(from, "type") {
	case "text":
		m.Type, m.Text = c.some(from, "media_type"), c.some(from, "data")
		return nil
	case "content":
		if content := c.index(from, "content"); content != none {
			p.Parts, err = c.list(content, c.chatPart)
		}
		return err
	}
	m.setData(c.some(from, "data", "file_data"))
	m.setURL(c.some(from, "url"))
	if format := c.some(from, "format"); format != "" {
		m.Type = "audio/" + format
	}
	for _, into := range [...]struct {
		to   *string
		name string
	}{{&m.Type, "media_type"}, {&m.FileID, "file_id"}, {&m.Title, "filename"}, {&m.Detail, "detail"}} {
		if text := c.some(from, into.name); text != "" {
			*into.to = text
		}
	}
	return nil
}

// setURL sets where the content is, unless text is empty. An address that begins with
// data:image/png;base64, is the content itself.
func (m *Media) setURL(text string) {
	if strings.HasPrefix(text, "data:") {
		m.setData(text)
	} else if text != "" {
		m.URL = text
	}
}

// setData sets the content in base64, unless text is empty. The type may stand before it, as in
// an address.
func (m *Media) setData(text string) {
	if rest, ok := strings.CutPrefix(text, "data:"); ok {
		head, data, _ := strings.Cut(rest, ",")
		m.Type, m.Data = strings.TrimSuffix(head, ";base64"), data
	} else if text != "" {
		m.Data = text
	}
}
