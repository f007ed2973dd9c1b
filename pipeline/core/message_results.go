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

// mapParts maps the results in a list of parts, or, inside of a result, its texts.
func mapParts(raw json.RawMessage, f func(string) (string, error), inside bool) (json.RawMessage, error) {
	var parts []map[string]json.RawMessage
	if json.Unmarshal(raw, &parts) != nil {
		return raw, nil // null, or what cannot be read
	}
	changed := false
	for _, p := range parts {
		member := "content"
		if inside {
			member = "text"
		}
		var kind string
		_ = json.Unmarshal(p["type"], &kind) // of another type: no part that is known
		if !inside && kind != "tool_result" || len(p[member]) == 0 {
			continue
		}
		value, err := mapText(p[member], f, inside)
		if err != nil {
			return nil, err
		}
		changed = changed || string(value) != string(p[member])
		p[member] = value
	}
	if !changed {
		return raw, nil
	}
	out, err := json.Marshal(parts)
	if err != nil {
		return nil, fmt.Errorf("write parts: %w", err)
	}
	return out, nil
}

// mapText maps a text, or the texts in a list of parts.
func mapText(raw json.RawMessage, f func(string) (string, error), inside bool) (json.RawMessage, error) {
	var text string
	if json.Unmarshal(raw, &text) != nil {
		if inside {
			return raw, nil
		}
		return mapParts(raw, f, true)
	}
	mapped, err := f(text)
	if err != nil || mapped == text {
		return raw, err
	}
	return json.Marshal(mapped)
}
