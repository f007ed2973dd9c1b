package message

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// DecodeParts reads a JSON list of contents, as one of the APIs has them in a message of the user.
// An error names the content and the member, such as parts[1].source.
func DecodeParts(data []byte) ([]Part, error) {
	var kinds []struct {
		Type json.RawMessage `json:"type"`
	}
	member := "content"
	if json.Unmarshal(data, &kinds) == nil && len(kinds) > 0 && kinds[0].Type == nil {
		member = "parts" // the form of Gemini
	}
	list, err := DecodeList(slices.Concat([]byte(`[{"role":"user","`+member+`":`), data, []byte("}]")))
	if err == nil && (len(list) != 1 || len(list[0].Parts) != len(kinds)) {
		err = fmt.Errorf("parts: %w (want a list of contents)", ErrInvalid)
	}
	if err != nil {
		var inner *pathError
		if errors.As(err, &inner) {
			inner.path = "parts" + strings.TrimPrefix(inner.path, "messages[0]."+member)
		}
		return nil, err
	}
	return list[0].Parts, nil
}

// MediaText returns the texts that images, documents and sounds hold: titles, and documents of
// text. [TextOf] leaves them out.
func MediaText(parts []Part) string {
	var lines []string
	var read func(parts []Part, inside bool)
	read = func(parts []Part, inside bool) {
		for i := range parts {
			p := &parts[i]
			switch p.Kind {
			case Image, Document, Audio:
				if m := p.Media; m != nil {
					lines = append(lines, m.Title, m.Text)
				}
				read(p.Parts, true)
			case ToolResult:
				read(p.Parts, false)
			case Text:
				if inside {
					lines = append(lines, p.Text)
				}
			}
		}
	}
	read(parts, false)
	return strings.Join(slices.DeleteFunc(lines, func(l string) bool { return l == "" }), "\n")
}

// AppendParts writes contents as a JSON list. Those that were read are written as they came.
func AppendParts(dst []byte, parts []Part) ([]byte, error) {
	raws := make([]string, len(parts))
	for i := range parts {
		if raws[i] = parts[i].raw; raws[i] == "" {
			w := &writer{form: FormAnthropic}
			raw, err := w.part(&parts[i], RoleUser)
			if err != nil {
				return nil, inside("parts", indexed(i, err))
			}
			raws[i] = raw
		}
	}
	dst = append(dst, '[')
	dst = append(dst, strings.Join(raws, ",")...)
	return append(dst, ']'), nil
}
