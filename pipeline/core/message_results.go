package core

import (
	"encoding/json"
	"fmt"
)

// MapResults returns a copy of a message in which each text of a tool's result is what f
// makes of it: the content of a tool message, and those of parts of type tool_result. The
// error is that of f.
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

// mapParts maps the results in a list of parts, or, inside of a result, its texts. Other
// parts stay as they are written.
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

// mapPart maps one part; nil is no change.
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

// mapText maps a text, or the texts in a list of parts.
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
