package message

import (
	"fmt"
	"strings"
)

// gemini reads a content of Gemini. Its role may be absent, which means the user.
func (c *codec) gemini(root int32) error {
	c.m.Role = RoleUser
	if c.tree.member(root, "role") != nil {
		if err := c.role(root); err != nil {
			return err
		}
	}
	c.m.origin.form = FormGemini
	c.others(root, "role", "parts")
	parts := c.index(root, "parts")
	if parts == none {
		return inside("parts", fmt.Errorf("missing: %w", ErrInvalid))
	}
	if n := &c.tree.nodes[parts]; n.kind() != '[' {
		return inside("parts", wrong(n.raw, "a list of parts"))
	}
	var err error
	c.m.Parts, err = c.list(parts, c.geminiPart)
	return err
}

// geminiPart reads a part, whose kind is the name of its member.
func (c *codec) geminiPart(i int32) (Part, error) {
	p := Part{place: inGemini}
	if c.tree.nodes[i].kid == none {
		return p, fmt.Errorf("{}: %w (want a member such as text)", ErrInvalid)
	}
	if thought := c.tree.member(i, "thought"); thought != nil && thought.raw == "true" {
		p.Kind = Thinking
		return p, nil
	}
	if c.tree.member(i, "text") != nil {
		p.Kind = Text
		var err error
		p.Text, err = c.text(i, "text")
		return p, err
	}
	if call := c.tree.index(i, "functionCall", "function_call"); call != none {
		p.Kind, p.ID, p.Name = ToolCall, c.some(call, "id"), c.some(call, "name")
		if args := c.tree.member(call, "args"); args != nil {
			p.Arguments = args.raw
		}
		return p, nil
	}
	if r := c.tree.index(i, "functionResponse", "function_response"); r != none {
		c.geminiResult(&p, r)
		return p, nil
	}
	if data := c.tree.index(i, "inlineData", "inline_data", "fileData", "file_data"); data != none {
		m := &Media{Type: c.some(data, "mimeType", "mime_type"), Data: c.some(data, "data"), URL: c.some(data, "fileUri", "file_uri"), Title: c.some(data, "displayName", "display_name")}
		if p.Kind = mediaKind(m.Type); p.Kind != Unknown {
			p.Media = m
		}
		return p, nil
	}
	p.Kind = Unknown
	return p, nil
}

// geminiResult reads a result, which is a JSON object. If the object has only the member output
// or error, and this is a string, then the string is the text of the result. Otherwise the text
// is the JSON of the object.
func (c *codec) geminiResult(p *Part, r int32) {
	p.Kind, p.ID, p.Name = ToolResult, c.some(r, "id"), c.some(r, "name")
	response := c.tree.member(r, "response")
	if response == nil {
		return
	}
	name, value, at := outcome(response.raw)
	switch name {
	case "error":
		p.Failed = true
		fallthrough
	case "output":
		p.Parts = []Part{{Kind: Text, Text: unquote(value), raw: value, at: response.at - c.base + at, place: inString}}
	default:
		p.Parts = []Part{{Kind: Text, Text: response.raw, raw: response.raw, at: response.at - c.base, place: inValue}}
	}
}

// outcome returns the only member of a JSON object, "output" or "error", whose value is a
// string, and where the value begins. The name is empty for any other JSON.
func outcome(raw string) (name, value string, at int) {
	rest := strings.TrimLeft(raw[1:], " \t\r\n")
	first, _, _ := strings.Cut(strings.TrimPrefix(rest, `"`), `"`)
	if raw[0] != '{' || first != "output" && first != "error" && !strings.Contains(first, `\`) { // its escapes are not read yet
		return "", "", 0
	}
	var t tree
	if _, err := t.read(readString(raw).dec, raw, "", maxDepth-1); err != nil || len(t.nodes) != 2 || t.nodes[1].kind() != '"' {
		return "", "", 0
	}
	return t.nodes[1].name, t.nodes[1].raw, t.nodes[1].at
}

// mediaKind returns the kind of a media type.
func mediaKind(mediaType string) Kind {
	switch {
	case strings.HasPrefix(mediaType, "image/"):
		return Image
	case strings.HasPrefix(mediaType, "audio/"):
		return Audio
	case strings.HasPrefix(mediaType, "video/"):
		return Unknown
	}
	return Document
}
