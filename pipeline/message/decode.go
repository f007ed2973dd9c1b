package message

import (
	"context"
	"errors"
	"fmt"
)

// messages reads a list of messages.
func (r *reader) messages() ([]Message, error) {
	list := []Message{}
	if kind := r.dec.PeekKind(); kind != '[' {
		raw, err := r.dec.ReadValue()
		if err != nil {
			return nil, syntaxError(err)
		}
		return nil, wrong(string(raw), "a list of messages")
	}
	if _, err := r.dec.ReadToken(); err != nil {
		return nil, syntaxError(err)
	}
	for r.dec.PeekKind() != ']' {
		if len(list) == maxMessages {
			return nil, fmt.Errorf("more than %d messages: %w", maxMessages, ErrInvalid)
		}
		if err := r.ctx.Err(); err != nil {
			return nil, err
		}
		m, err := r.message()
		if err != nil {
			return nil, indexed(len(list), err)
		}
		list = append(list, m)
	}
	_, err := r.dec.ReadToken()
	return list, syntaxError(err)
}

// message reads one message. The members of an object may come in any order, so the form is
// known only when all of them were read.
func (r *reader) message() (Message, error) {
	root, err := r.value()
	if err != nil {
		return Message{}, err
	}
	n := r.tree.nodes[root]
	if n.kind() != '{' {
		return Message{}, wrong(n.raw, "an object")
	}
	m := Message{origin: &origin{raw: n.raw, at: n.at}}
	c := codec{tree: &r.tree, base: n.at, m: &m}
	if err := c.message(root); err != nil {
		return Message{}, err
	}
	return m, r.keep(&m)
}

// message reads the object of a message of any form.
func (c *codec) message(root int32) error {
	t := c.tree
	kind, err := c.text(root, "type")
	if err != nil {
		return err
	}
	switch {
	case t.index(root, "parts") != none && t.index(root, "content") == none:
		return c.gemini(root)
	case kind != "" && kind != "message":
		return c.item(root, kind)
	case kind == "" && t.index(root, "role") == none && t.index(root, "content") == none && t.index(root, "id") != none:
		return c.item(root, "item_reference") // the type may be absent
	}
	return c.chat(root, kind)
}

// UnmarshalJSON reads one message of any form. On an error the message is unchanged.
func (m *Message) UnmarshalJSON(data []byte) error {
	r := newReader(data)
	read, err := r.message()
	if err == nil {
		err = r.end()
	}
	if err != nil {
		return fmt.Errorf("message: %w", err)
	}
	*m = read
	return nil
}

// DecodeList reads a JSON list of messages of any form. An error names the message and the
// member.
func DecodeList(data []byte) ([]Message, error) {
	return DecodeListContext(context.Background(), data)
}

// DecodeListContext is [DecodeList], which ends with the error of the context soon after that ends.
func DecodeListContext(ctx context.Context, data []byte) ([]Message, error) {
	r := newReader(data)
	r.ctx = ctx
	list, err := r.messages()
	if err == nil {
		err = r.end()
	}
	if err != nil {
		var inner *pathError
		if errors.As(err, &inner) {
			inner.whole = false // the document is the list
		}
		return nil, inside("messages", err)
	}
	findFollowing(list, knownForm(list))
	return list, nil
}
