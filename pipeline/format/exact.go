package format

import (
	"encoding/json"
	"strings"
	"unicode"

	"github.com/anchor-host/anchor-host/pipeline/core"
	"github.com/anchor-host/anchor-host/pipeline/message"
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
	switch f := formatter.(type) {
	case Anthropic:
		return !f.Cite
	case *Anthropic:
		return !f.Cite
	case Generic, *Generic, OpenAI, *OpenAI, Responses, *Responses, Gemini, *Gemini:
		return true
	}
	return false
}

// Texts calls message with the role of each message of an output, and text with each
// text, and media with each image, document and sound. For an output that is not of this package it does nothing and returns
// false.
func Texts(output any, message func(core.Role), text func(string), media func(*message.Part)) bool {
	switch out := output.(type) {
	case *OpenAIOutput:
		out.texts(message, text, media)
	case *AnthropicOutput:
		out.texts(message, text, media)
	case *ResponsesOutput:
		out.texts(message, text, media)
	case *GeminiOutput:
		out.texts(message, text, media)
	default:
		return false
	}
	return true
}

// ToolsOf returns the tools in an output of this package, nil if it has none.
func ToolsOf(output any) json.RawMessage {
	switch out := output.(type) {
	case *OpenAIOutput:
		return out.Tools
	case *AnthropicOutput:
		return out.Tools
	case *ResponsesOutput:
		return out.Tools
	case *GeminiOutput:
		return out.Tools
	}
	return nil
}

// Started reports whether an output begins with a message that no item and no query has. Other
// items may take its place.
func Started(output any) bool {
	switch out := output.(type) {
	case *AnthropicOutput:
		if len(out.Messages) == 0 {
			return false
		}
		text, ok := out.Messages[0].Content.(string)
		return ok && text == start
	case *GeminiOutput:
		if len(out.Contents) == 0 {
			return false
		}
		text, ok := out.Contents[0].Parts[0].(GeminiText)
		return ok && text.Text == start
	}
	return false
}

func (out *OpenAIOutput) texts(message func(core.Role), text func(string), media func(*message.Part)) {
	for _, m := range out.Messages {
		switch m := m.(type) {
		case Whole:
			message(m.Role)
			m.texts(text, media)
		case OpenAIMessage:
			message(m.Role)
			for _, t := range [...]string{m.Content, m.Name, string(m.ToolCalls), m.ToolCallID} {
				text(t)
			}
		}
	}
}

// texts counts the system blocks as one message. A message with tool calls or results counts
// as one text: the JSON of its blocks.
func (out *AnthropicOutput) texts(message func(core.Role), text func(string), media func(*message.Part)) {
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
		case []any:
			blockTexts(content, text, media)
		default:
			if doc, err := json.Marshal(content); err == nil {
				text(string(doc))
			}
		}
	}
}

// blockTexts counts blocks that are whole and search results by their texts, and the JSON of the others as one text.
func blockTexts(blocks []any, text func(string), media func(*message.Part)) {
	others := make([]any, 0, len(blocks))
	for _, b := range blocks {
		switch b := b.(type) {
		case Whole:
			b.texts(text, media)
		case SearchResultBlock:
			text(b.Source)
			text(b.Title)
			text(b.Content[0].Text)
		default:
			others = append(others, b)
		}
	}
	if len(others) == 0 {
		return
	}
	if doc, err := json.Marshal(others); err == nil {
		text(string(doc))
	}
}

// ContextEnd divides the text of an output that holds the context of w. text ends with the
// context, separator would come before one more item, and after is the rest of the text. All are
// empty when there is no context, when white space at its end is left out, and for formatters of
// other packages.
func ContextEnd(formatter, output any, w *core.Window) (text, separator, after string) {
	s := divide(w)
	if s.context.n == 0 {
		return "", "", ""
	}
	switch out := output.(type) {
	case string:
		switch formatter.(type) {
		case Generic, *Generic:
			return s.genericEnd(out)
		}
	case *OpenAIOutput:
		if m, ok := out.Messages[min(len(s.system), 1)].(OpenAIMessage); ok {
			return s.chatEnd(m.Content, openAIContext)
		}
	case *ResponsesOutput:
		if m, ok := out.Input[0].(ResponsesMessage); ok {
			return s.chatEnd(m.Content, openAIContext)
		}
	case *GeminiOutput:
		if t, ok := out.Contents[0].Parts[0].(GeminiText); ok {
			return s.chatEnd(t.Text, openAIContext)
		}
	case *AnthropicOutput:
		switch content := out.Messages[0].Content.(type) {
		case string:
			return s.chatEnd(content, anthropicContext)
		case []TextBlock:
			return content[0].Text, contextSeparator, ""
		}
	}
	return "", "", ""
}

// chatEnd is ContextEnd for the message that begins with the context.
func (s *sections) chatEnd(content, prefix string) (text, separator, after string) {
	end := len(prefix) + s.context.length(contextSeparator)
	if end > len(content) {
		return "", "", ""
	}
	return content[:end], contextSeparator, content[end:]
}

// genericEnd is ContextEnd for a plain text. The question follows the context, or nothing does.
func (s *sections) genericEnd(out string) (text, separator, after string) {
	if s.query != "" {
		after = blankLine + strings.TrimRightFunc(questionHeading+s.query, unicode.IsSpace)
		return out[:len(out)-len(after)], "\n", after
	}
	last := s.context.last().Content
	if strings.TrimRightFunc(last, unicode.IsSpace) != last || last == "" {
		return "", "", ""
	}
	return out, "\n", ""
}
