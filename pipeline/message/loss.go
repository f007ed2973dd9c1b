package message

import (
	"cmp"
	"slices"
)

// known are the members of the JSON of a part whose values are in the fields of the part. inner
// are those of the objects in it.
type known struct{ members, inner []string }

// knownOf returns what is known of a part.
func knownOf(p *Part) known {
	switch p.place {
	case inChat:
		return known{members: []string{"type", "text"}}
	case inRefusal:
		return known{members: []string{"type", "refusal"}}
	case inMessage:
		return known{members: []string{"role", "content", "tool_call_id", "name"}}
	case inCalls:
		return known{[]string{"id", "type", "function"}, []string{"name", "arguments"}}
	case inItem:
		return known{members: []string{"type", "call_id", "name", "arguments", "output", "id", "status"}}
	case inResponses:
		return known{members: []string{"type", "text", "image_url", "file_id", "detail", "file_data", "filename", "file_url"}}
	case inOpenAI:
		return known{[]string{"type", "image_url", "file", "input_audio"},
			[]string{"url", "detail", "file_data", "filename", "file_id", "data", "format"}}
	case inGemini:
		return known{[]string{"text", "functionCall", "function_call", "functionResponse", "function_response", "inlineData", "inline_data", "fileData", "file_data"},
			[]string{"id", "name", "args", "response", "mimeType", "mime_type", "data", "displayName", "display_name", "fileUri", "file_uri"}}
	case inAnthropic:
		return anthropicKnown(p.Kind)
	}
	return known{}
}

func anthropicKnown(kind Kind) known {
	switch kind {
	case ToolCall:
		return known{members: []string{"type", "id", "name", "input"}}
	case ToolResult:
		return known{members: []string{"type", "tool_use_id", "content", "is_error"}}
	case Document:
		return known{[]string{"type", "source", "title"}, []string{"type", "media_type", "data", "url", "file_id", "content"}}
	}
	return known{[]string{"type", "source"}, []string{"type", "media_type", "data", "url", "file_id"}}
}

// loseMembers loses the members of the JSON of a part that no field holds.
func (w *writer) loseMembers(p *Part) error {
	if p.place == inString || p.place == inValue || p.raw == "" {
		return nil
	}
	t, err := parse(p.raw)
	if err != nil {
		return w.fail("", err)
	}
	if kind := t.some(0, "type"); p.place == inCalls && kind == "custom" || p.place == inItem && kind != "function_call" && kind != "function_call_output" {
		return w.loseUnknown(kind)
	}
	k := knownOf(p)
	for i := t.nodes[0].kid; i != none; i = t.nodes[i].next {
		n := &t.nodes[i]
		if err := w.loseMember(n, "", k.members); err != nil {
			return err
		}
		if n.kind() != '{' || k.inner == nil {
			continue
		}
		for j := n.kid; j != none; j = t.nodes[j].next {
			if err := w.loseMember(&t.nodes[j], n.name+".", k.inner); err != nil {
				return err
			}
		}
	}
	return nil
}

// loseMember loses a member, unless it is one of known, or empty.
func (w *writer) loseMember(n *node, path string, known []string) error {
	if slices.Contains(known, n.name) || isEmpty(n.raw) {
		return nil
	}
	return w.loseUnknown(path + cmp.Or(n.name, `""`))
}

// isEmpty reports whether a value says nothing, such as the empty list of annotations that the
// Responses API gives each text.
func isEmpty(raw string) bool {
	return raw == "null" || raw == "false" || raw == `""` || raw == "[]" || raw == "{}"
}
