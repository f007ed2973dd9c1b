package format

import (
	"encoding/json"
	"strings"
	"unicode"

	"github.com/anchor-host/anchor-host/pipeline/core"
)

// The functions in this file are all that an exact fit knows of the formats here. It reads
// any other output as a JSON document, and formats the window for each item that it tries.
// They go by the type itself, not by methods: a formatter or an output that embeds one of
// these types may write something else.

// WritesWhole reports whether a formatter is one that writes the text of every item as it
// is, and one more item of the context behind the others. An exact fit estimates the tokens
// of such a formatter's output. A formatter that is not listed here, such as one that
// escapes texts, is right as well, and slower: each item that is tried is formatted.
func WritesWhole(formatter any) bool {
	switch formatter.(type) {
	case Generic, *Generic, OpenAI, *OpenAI, Anthropic, *Anthropic:
		return true
	}
	return false
}

// Texts calls message with the role of each message of an output, and text with each
// text. It does nothing and returns false for an output that is not of this package.
func Texts(output any, message func(core.Role), text func(string)) bool {
	switch out := output.(type) {
	case *OpenAIOutput:
		out.texts(message, text)
	case *AnthropicOutput:
		out.texts(message, text)
	default:
		return false
	}
	return true
}

func (out *OpenAIOutput) texts(message func(core.Role), text func(string)) {
	for i := range out.Messages {
		m := &out.Messages[i]
		message(m.Role)
		for _, t := range [...]string{m.Content, m.Name, string(m.ToolCalls), m.ToolCallID} {
			text(t)
		}
	}
}

// texts takes the system blocks as one message, and the blocks of a message with tool
// calls or results as one text, their JSON.
func (out *AnthropicOutput) texts(message func(core.Role), text func(string)) {
	if len(out.System) > 0 {
		message(core.RoleSystem)
	}
	for i := range out.System {
		text(out.System[i].Text)
	}
	for i := range out.Messages {
		m := &out.Messages[i]
		message(m.Role)
		switch content := m.Content.(type) {
		case string:
			text(content)
		case []TextBlock:
			for j := range content {
				text(content[j].Text)
			}
		default:
			if doc, err := json.Marshal(content); err == nil {
				text(string(doc))
			}
		}
	}
}

// ContextEnd returns the text that ends with the context of w in what a formatter made of
// w, and what that formatter writes between it and one more item. Both are empty when there
// is no context, when the text goes on behind it, and for a formatter that is not listed here.
func ContextEnd(formatter, output any, w *core.Window) (text, separator string) {
	s := divide(w)
	if s.context.n == 0 {
		return "", ""
	}
	turnsFollow := len(s.turns) > 0 && roleOf(s.turns[0]) == core.RoleUser
	switch out := output.(type) {
	case string:
		switch formatter.(type) {
		case Generic, *Generic:
		default:
			return "", ""
		}
		last := s.context.last().Content
		if strings.TrimRightFunc(last, unicode.IsSpace) == last && last != "" {
			return out, "\n"
		}
	case *OpenAIOutput:
		if first := min(len(s.system), 1); !turnsFollow {
			return out.Messages[first].Content, contextSeparator
		}
	case *AnthropicOutput:
		switch content := out.Messages[0].Content.(type) {
		case string:
			if !turnsFollow {
				return content, contextSeparator
			}
		case []TextBlock:
			return content[0].Text, contextSeparator
		}
	}
	return "", ""
}
