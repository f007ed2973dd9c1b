package agent

import (
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/pipeline/media"
	"github.com/anchor-host/anchor-host/pipeline/message"
)

// costs receives what a message costs: each text, and each content that is not text.
type costs struct {
	model string
	text  func(string)
	media func(media.Estimate)
}

func (c *costs) message(m *pipeline.Message) {
	c.text(m.Name)
	for _, other := range m.Others() {
		c.text(message.Visible(other))
	}
	c.parts(m.Parts, m.Form())
}

func (c *costs) parts(parts []message.Part, form message.Form) {
	for i := range parts {
		p := &parts[i]
		if p.Kind == message.Thinking {
			continue
		}
		estimate, isMedia := media.OfMessage(c.model, p)
		if isMedia {
			c.media(estimate)
		}
		switch p.Kind {
		case message.Unknown:
			if !isMedia {
				c.text(message.Visible(p.Raw()))
			}
			continue
		case message.Image, message.Document, message.Audio:
			if p.Media == nil || *p.Media == (message.Media{Detail: p.Media.Detail}) && len(p.Parts) == 0 {
				c.text(message.Visible(p.Raw())) // it lies too deep to be read
				continue
			}
			c.text(p.Media.Title)
			c.text(p.Media.Text)
		}
		for _, s := range [...]string{p.Text, p.ID, p.Name, p.Arguments} {
			c.text(s)
		}
		countOthers(p.Raw(), readMembers[p.Kind], len(p.Parts) == 0, c.text)
		if p.Kind == message.ToolResult && form == message.FormGemini { // its JSON is its text, not members beside it
			c.text(message.TextOf(p.Parts))
			continue
		}
		c.parts(p.Parts, form)
	}
}

// readMembers are the members of a part that its fields hold, so that they are counted already.
var readMembers = map[message.Kind][]string{
	message.Text:       {"text"},
	message.Refusal:    {"refusal"},
	message.ToolCall:   {"id", "call_id", "name", "input", "arguments", "action", "operation", "args"},
	message.ToolResult: {"tool_use_id", "call_id", "content", "output", "is_error", "id", "name", "response"},
	message.Image:      mediaMembers,
	message.Document:   mediaMembers,
	message.Audio:      mediaMembers,
}

var mediaMembers = []string{
	"title", "filename", "file_id", "file_url", "file_data", "media_type", "data", "url", "content", "detail", "format",
	"mimeType", "mime_type", "fileUri", "file_uri", "displayName", "display_name",
}

// wrappers are members whose value is an object with the members that a part is about.
var wrappers = []string{
	"function", "custom", "functionCall", "function_call", "functionResponse", "function_response",
	"source", "image_url", "file", "input_audio", "inlineData", "inline_data", "fileData", "file_data",
}

// countOthers counts the members of a part that are not among those that are known. If the part
// is empty, a list is also counted: it lies too deep to be read.
func countOthers(raw string, known []string, empty bool, text func(string)) {
	if !strings.HasPrefix(raw, "{") {
		return
	}
	dec := jsontext.NewDecoder(strings.NewReader(raw), jsontext.AllowInvalidUTF8(true))
	if _, err := dec.ReadToken(); err != nil {
		return
	}
	for dec.PeekKind() == '"' {
		name, err := dec.ReadToken()
		if err != nil {
			return
		}
		key := name.String()
		value, err := dec.ReadValue()
		if err != nil {
			return
		}
		switch has := func(list []string) bool { return slices.Contains(list, key) }; {
		case has(known) && (!empty || value.Kind() != '[') || message.Silent(key):
		case has(wrappers) && value.Kind() == '{':
			countOthers(string(value), known, empty, text)
		case has(wrappers) && value.Kind() == '"': // the address of an image
		default:
			text(message.Visible(key + ": " + string(value)))
		}
	}
}
