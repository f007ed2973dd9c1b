package message

import (
	"fmt"
	"slices"
)

// codec makes a message from a tree.
type codec struct {
	tree *tree
	base int // where the message begins in the document
	m    *Message
}

// text returns a member that is a string, empty if it is absent or null.
func (c *codec) text(object int32, name string) (string, error) {
	n := c.tree.member(object, name)
	if n == nil {
		return "", nil
	}
	return n.text()
}

// some returns a member that is a string, and the empty string for any other value. It is for
// members that nobody checks.
func (c *codec) some(object int32, names ...string) string { return c.tree.some(object, names...) }

// text returns the text of a value that must be a string. The error names the member.
func (n *node) text() (string, error) {
	if n.kind() != '"' {
		return "", inside(n.name, wrong(n.raw, "a string"))
	}
	return unquote(n.raw), nil
}

// index returns the index of a member, none if there is none or if it is null.
func (c *codec) index(object int32, name string) int32 { return c.tree.index(object, name) }

// others notes the members of the message that are not known.
func (c *codec) others(root int32, known ...string) {
	for i := c.tree.nodes[root].kid; i != none; i = c.tree.nodes[i].next {
		if n := &c.tree.nodes[i]; n.raw != "null" && !slices.Contains(known, n.name) {
			c.m.origin.others = append(c.m.origin.others, quote(n.name)+":"+n.raw)
		}
	}
}

// role reads the role of a message. roles are those of the API, each with ours.
func (c *codec) role(root int32) error {
	n := c.tree.member(root, "role")
	if n == nil {
		return inside("role", fmt.Errorf("missing: %w", ErrInvalid))
	}
	text, err := n.text()
	if err != nil {
		return err
	}
	switch {
	case Role(text).Valid():
		c.m.Role = Role(text)
	case text == "model":
		c.m.Role = RoleAssistant
	case text == "function": // OpenAI's name from before there were tools
		c.m.Role = RoleTool
	default:
		return inside("role", fmt.Errorf("%.100q: %w (want user, assistant, system, developer or tool)", text, ErrInvalid))
	}
	return nil
}

// list reads a list of parts. A string is one text.
func (c *codec) list(at int32, part func(i int32) (Part, error)) (parts []Part, err error) {
	n := &c.tree.nodes[at]
	switch n.kind() {
	case '"':
		return []Part{{Kind: Text, Text: unquote(n.raw), raw: n.raw, at: n.at - c.base, place: inString}}, nil
	case '[':
	default:
		return nil, inside(n.name, wrong(n.raw, "a text or a list of parts"))
	}
	count := 0
	for i := n.kid; i != none; i = c.tree.nodes[i].next {
		count++
	}
	parts = make([]Part, 0, count)
	for i := n.kid; i != none; i = c.tree.nodes[i].next {
		e := &c.tree.nodes[i]
		if e.kind() != '{' {
			return nil, inside(n.name, indexed(len(parts), wrong(e.raw, `an object such as {"type": "text", "text": "…"}`)))
		}
		p, err := part(i)
		if err != nil {
			return nil, inside(n.name, indexed(len(parts), err))
		}
		p.raw, p.at = e.raw, e.at-c.base
		parts = append(parts, p)
	}
	return parts, nil
}
