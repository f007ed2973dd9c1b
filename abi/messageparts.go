package abi

import (
	"errors"
	"fmt"
	"slices"
)

// CheckParts returns an error if the parts of a message in an answer are not an edit of the
// message as it was sent. The error names the part.
func (m *Message) CheckParts(sent *Message) error {
	switch {
	case m.Parts == nil:
		return nil
	case len(m.Parts) == 0 && len(sent.Parts) > 0:
		return errors.New("parts: empty (leave out the message instead)")
	}
	return checkParts(m.Parts, sent.Parts, sent.Role != "tool")
}

// checkParts checks a list of parts. mayAdd allows new texts.
func checkParts(parts, sent []MessagePart, mayAdd bool) error {
	last := -1
	for i := range parts {
		p, err := &parts[i], error(nil)
		switch {
		case p.Index == nil && !mayAdd:
			err = errors.New("new: a message of the role tool takes new texts only in its results (want an index)")
		case p.Index == nil:
			if p.Parts != nil || !p.sameBut(&MessagePart{Type: "text"}) {
				err = errors.New("has no index and is not a mere text (a new part has only type, which is text, and text)")
			}
		case *p.Index < 0 || *p.Index >= len(sent):
			err = fmt.Errorf("index %d: the list that was sent has %d parts", *p.Index, len(sent))
		case *p.Index <= last:
			err = fmt.Errorf("index %d after %d: the parts keep their order, each at most once", *p.Index, last)
		default:
			last = *p.Index
			err = p.checkEdit(&sent[last])
		}
		if err != nil {
			return fmt.Errorf("parts[%d]: %w", i, err)
		}
	}
	return nil
}

// IsWhole reports whether a part of an answer names only its index: the original part stays.
func (p *MessagePart) IsWhole() bool {
	return p.Index != nil && p.Parts == nil && p.equal(&MessagePart{Index: p.Index})
}

// checkEdit checks a part with an index.
func (p *MessagePart) checkEdit(sent *MessagePart) error {
	if p.IsWhole() {
		return nil
	}
	if sent.Type == "tool_result" && p.Parts != nil {
		if err := checkParts(p.Parts, sent.Parts, true); err != nil {
			return err
		}
	} else if p.Parts != nil && !sameParts(p.Parts, sent.Parts) {
		return partChanged(sent.Type)
	}
	if !p.sameBut(sent) || p.Text != sent.Text && sent.Type != "text" {
		return partChanged(sent.Type)
	}
	return nil
}

func partChanged(kind string) error {
	return fmt.Errorf("a part of the type %s changed: only the text of a text and the parts of a tool_result may change "+
		"(leave all other members as they were sent, or name only the index)", kind)
}

func sameParts(a, b []MessagePart) bool {
	return slices.EqualFunc(a, b, func(x, y MessagePart) bool { return x.equal(&y) })
}

// equal reports whether two parts say the same.
func (p *MessagePart) equal(q *MessagePart) bool {
	return p.sameBut(q) && p.Text == q.Text && sameParts(p.Parts, q.Parts)
}

// sameBut reports whether two parts say the same apart from their texts and the parts in them.
func (p *MessagePart) sameBut(q *MessagePart) bool {
	return samePointer(p.Index, q.Index) && samePointer(p.Media, q.Media) && p.Type == q.Type && p.ID == q.ID && p.Name == q.Name &&
		p.Arguments == q.Arguments && p.IsError == q.IsError
}

func samePointer[T comparable](a, b *T) bool {
	return a == b || a != nil && b != nil && *a == *b
}
