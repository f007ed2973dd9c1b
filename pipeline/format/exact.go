package format

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"unicode"

	"github.com/anchor-host/anchor-host/pipeline/core"
	"github.com/anchor-host/anchor-host/pipeline/message"
)

// Package fill counts the formats of this package exactly with the functions in this file.
// It reads any other output as a JSON document, and formats the window for each item that
// it tries.

// exact is an output of this package.
type exact interface {
	// self is the output itself. That of a type that embeds an output, and may write something
	// else, is not that value.
	self() exact
	texts(message func(core.Role), text func(string), media func(*message.Part))
	toolList() json.RawMessage
	// started is described at [Started], and contextEnd at [ContextEnd].
	started() bool
	contextEnd(s *sections) (text, separator, after string)
}

// exactly returns an output of this package, and nil for any other one.
func exactly(output any) exact {
	if out, ok := output.(exact); ok && any(out.self()) == output {
		return out
	}
	return nil
}

// WritesWhole reports whether a formatter writes the whole text of every item as it is, and
// adds one more item of the context after the others. An exact fit estimates the output of
// such a formatter. For all others, such as one that escapes texts or embeds a built-in, it
// formats the window for each item that it tries: this is slower, and as correct.
func WritesWhole(formatter any) bool {
	if f, ok := formatter.(interface{ writesMore() bool }); ok && f.writesMore() {
		return false
	}
	t := reflect.TypeOf(formatter)
	if t != nil && t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return slices.Contains(builtinTypes, t)
}

var builtinTypes = func() (types []reflect.Type) {
	for _, f := range All() {
		types = append(types, reflect.TypeOf(f))
	}
	return types
}()

// Texts calls message with the role of each message of an output, and text with each
// text, and media with each image, document and sound. For an output that is not of this package it does nothing and returns
// false.
func Texts(output any, message func(core.Role), text func(string), media func(*message.Part)) bool {
	out := exactly(output)
	if out != nil {
		out.texts(message, text, media)
	}
	return out != nil
}

// ToolsOf returns the tools in an output of this package, nil if it has none.
func ToolsOf(output any) json.RawMessage {
	if out := exactly(output); out != nil {
		return out.toolList()
	}
	return nil
}

// Started reports whether an output begins with a message that no item and no query has. Other
// items may take its place.
func Started(output any) bool {
	out := exactly(output)
	return out != nil && out.started()
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
	if out := exactly(output); out != nil {
		return out.contextEnd(&s)
	}
	if out, ok := output.(string); ok {
		switch formatter.(type) {
		case Generic, *Generic:
			return s.genericEnd(out)
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
