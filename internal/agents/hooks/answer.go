package hooks

import (
	"bytes"
	"encoding/json"
)

// specific is what an answer says for one kind of event. Codex refuses members that it does not know, so none is
// written without need.
type specific struct {
	Event   string          `json:"hookEventName"`
	Context string          `json:"additionalContext,omitempty"`
	Result  json.RawMessage `json:"updatedToolOutput,omitempty"`
}

// contextAnswer is the answer that adds a text.
func contextAnswer(e *Event, text string) ([]byte, error) {
	if !e.pascal {
		return encode(map[string]any{"additionalContext": text})
	}
	return encode(map[string]any{"hookSpecificOutput": specific{Event: e.Name, Context: text}})
}

// resultAnswer is the answer that replaces a result, nil if the client cannot do this.
func resultAnswer(e *Event, result json.RawMessage) ([]byte, error) {
	switch {
	case e.Client == Codex:
		// Codex puts the reason of a block in the place of the result; the command has run by then, and goes on.
		text, ok := onlyText(result)
		if !ok {
			return nil, nil
		}
		return encode(map[string]any{"decision": "block", "reason": text})
	case !e.pascal:
		return encode(map[string]any{"modifiedResult": result})
	}
	return encode(map[string]any{"hookSpecificOutput": specific{Event: e.Name, Result: result}})
}

// onlyText returns the text of a result that is one text: as it is, or in the form of the Model Context Protocol.
func onlyText(result json.RawMessage) (string, bool) {
	var text string
	if json.Unmarshal(result, &text) == nil {
		return text, true
	}
	var parts struct {
		Content []struct {
			Type string `json:"type"`
			Text string `json:"text"`
		} `json:"content"`
	}
	if json.Unmarshal(result, &parts) != nil || len(parts.Content) != 1 || parts.Content[0].Type != "text" {
		return "", false
	}
	return parts.Content[0].Text, true
}

// encode writes JSON without escapes for HTML, which the model would read.
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return b.Bytes(), err
}
