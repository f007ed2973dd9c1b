package core

import (
	"encoding/json"
	"fmt"
)

// MapResults returns a copy of a message in which f has replaced each text of a tool's
// result. Such texts are the content of a tool message, and the texts in parts of type
// tool_result. The error is the first error of f.
func (m *Message) MapResults(f func(text string) (string, error)) (out Message, err error) {
	out = *m
	switch {
	case m.Role == RoleTool && len(m.Parts) == 0:
		out.Content, err = f(m.Content)
	case m.Role == RoleTool:
		out.Parts, err = mapParts(m.Parts, f, true)
	case len(m.Parts) > 0:
		out.Parts, err = mapParts(m.Parts, f, false)
	}
	return out, err
}

// mapParts replaces the texts of the results in a list of parts. If inside is true, the
// list is itself the content of a result, and mapParts replaces all its texts. Other parts
// stay as they are.
func mapParts(raw json.RawMessage, f func(string) (string, error), inside bool) (json.RawMessage, error) {
	var parts []json.RawMessage
	if json.Unmarshal(raw, &parts) != nil {
		return raw, nil // null, or what cannot be read
	}
	changed := false
	for i := range parts {
		mapped, err := mapPart(parts[i], f, inside)
		if err != nil {
			return nil, err
		}
		if mapped != nil {
			parts[i], changed = mapped, true
		}
	}
	if !changed {
		return raw, nil
	}
	out, err := plainJSON(parts)
	if err != nil {
		return nil, fmt.Errorf("write parts: %w", err)
	}
	return out, nil
}

// mapPart does the same for one part. It returns nil for no change.
func mapPart(raw json.RawMessage, f func(string) (string, error), inside bool) (json.RawMessage, error) {
	p, member := readPart(raw), "content"
	if inside {
		member = "text"
	}
	if !inside && p.Type != "tool_result" || len(p.members[member]) == 0 {
		return nil, nil
	}
	value, err := mapText(p.members[member], f, inside)
	if err != nil || string(value) == string(p.members[member]) {
		return nil, err
	}
	p.members[member] = value
	return plainJSON(p.members)
}

// mapText does the same for a content: a text, or a list of parts.
func mapText(raw json.RawMessage, f func(string) (string, error), inside bool) (json.RawMessage, error) {
	text := stringOf(raw)
	if text == nil {
		if inside {
			return raw, nil
		}
		return mapParts(raw, f, true)
	}
	mapped, err := f(*text)
	if err != nil || mapped == *text {
		return raw, err
	}
	return plainJSON(mapped)
}
