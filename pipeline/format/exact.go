package format

import (
	"encoding/json"
	"strings"
	"unicode"

	"github.com/anchor-host/anchor-host/pipeline/core"
)

// Package fill counts the formats of this package exactly with the functions in this file.
// It reads any other output as a JSON document, and formats the window for each item that
// it tries. The functions test for the type itself, not for methods, because a formatter
// or an output that embeds one of these types may write something else.

// WritesWhole reports whether a formatter writes the whole text of every item as it is, and
// adds one more item of the context after the others. An exact fit estimates the output of
// such a formatter. For all others, such as one that escapes texts, it formats the window
// for each item that it tries: this is slower, and as correct.
func WritesWhole(formatter any) bool {
	switch formatter.(type) {
	case Generic, *Generic, OpenAI, *OpenAI, Anthropic, *Anthropic:
		return true
	}
	return false
}

// Texts calls message with the role of each message of an output, and text with each
// text. For an output that is not of this package it does nothing and returns false.
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

// texts counts the system blocks as one message. A message with tool calls or results counts
// as one text: the JSON of its blocks.
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

// ContextEnd returns the text that ends with the context of w in the output of a formatter,
// and the separator that would come before one more item. Both are empty when there is no
// context, when other text follows the context, and for formatters of other packages.
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
