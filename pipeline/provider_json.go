package pipeline

import (
	"encoding/json"
	"fmt"
)

var stateKeys = []string{"run_id", "messages", "observations", "reflection", "data"}

// UnmarshalJSON decodes a message of any API. Content is a text or a list of parts;
// members that are not known are kept. Repeated keys and values of another type are
// errors. Role is required, and content too unless there are tool calls or members that
// are not known. On an error the message is unchanged.
func (m *Message) UnmarshalJSON(data []byte) error {
	var doc Message
	var rest restOf
	hasContent := false
	err := decodeObject(data, func(key string, raw json.RawMessage) error {
		if (key == "name" || key == "tool_calls" || key == "tool_call_id") && isNull(raw) {
			return nil
		}
		switch key {
		case "role":
			return decodeString(raw, (*string)(&doc.Role))
		case "content":
			hasContent = !isNull(raw)
			if len(raw) > 0 && raw[0] == '[' || isNull(raw) {
				doc.Parts = compactJSON(raw)
				return nil
			}
			return decodeString(raw, &doc.Content)
		case "name":
			return decodeString(raw, &doc.Name)
		case "tool_calls":
			doc.ToolCalls = compactJSON(raw)
			return nil
		case "tool_call_id":
			return decodeString(raw, &doc.ToolCallID)
		}
		return rest.add(key, raw)
	})
	doc.Rest = rest.object()
	if err == nil {
		err = doc.Validate()
	}
	switch {
	case err != nil:
		return fmt.Errorf("message: %w", err)
	case !hasContent && len(doc.ToolCalls) == 0 && len(doc.Rest) == 0:
		return fmt.Errorf("message: content: missing: %w", ErrInvalid)
	}
	*m = doc
	return nil
}

// Validate checks the role, that the tool calls are a JSON array, that the parts are
// objects with a type, and that what else there is is a JSON object.
func (m *Message) Validate() error {
	if !m.Role.Valid() && m.Role != RoleDeveloper {
		return fmt.Errorf("role %.100q: %w (want user, assistant, system, developer or tool)", m.Role, ErrInvalid)
	}
	if len(m.ToolCalls) > 0 && (m.ToolCalls[0] != '[' || !json.Valid(m.ToolCalls)) {
		return fmt.Errorf("tool_calls: %.20s: %w (want a JSON array)", m.ToolCalls, ErrInvalid)
	}
	if len(m.Rest) > 0 && (m.Rest[0] != '{' || !json.Valid(m.Rest)) {
		return fmt.Errorf("rest: %.20s: %w (want a JSON object)", m.Rest, ErrInvalid)
	}
	return checkParts(m.Parts)
}

// UnmarshalJSON decodes a state strictly, as it does the messages in it. What is
// absent or null is zero. On an error the state is unchanged.
func (s *AgentState) UnmarshalJSON(data []byte) error {
	var doc AgentState
	err := decodeObject(data, func(key string, raw json.RawMessage) error {
		if isNull(raw) {
			return checkKey(key, stateKeys, false)
		}
		switch key {
		case "run_id":
			return decodeString(raw, &doc.RunID)
		case "messages":
			return json.Unmarshal(raw, &doc.Messages)
		case "observations":
			return decodeStrings(raw, &doc.Observations)
		case "reflection":
			return decodeString(raw, &doc.Reflection)
		case "data":
			return decodeMetadata(raw, &doc.Data)
		}
		return unknownKey(stateKeys...)
	})
	if err == nil {
		err = doc.Validate()
	}
	if err != nil {
		return fmt.Errorf("agent state: %w", err)
	}
	*s = doc
	return nil
}

// Validate checks the messages.
func (s *AgentState) Validate() error { return knownCalls{}.validate(s.Messages) }

// decodeStrings refuses what json.Unmarshal would take for an empty string.
func decodeStrings(raw json.RawMessage, to *[]string) error {
	var parts []json.RawMessage
	if err := json.Unmarshal(raw, &parts); err != nil {
		return fmt.Errorf("%.20s: %w (want a list of strings)", raw, ErrInvalid)
	}
	out := make([]string, len(parts))
	for i := range parts {
		if err := decodeString(parts[i], &out[i]); err != nil {
			return fmt.Errorf("[%d]: %w", i, err)
		}
	}
	*to = out
	return nil
}
