package fill

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/anchor-host/anchor-host/pipeline/core"
	"github.com/anchor-host/anchor-host/pipeline/format"
	"github.com/anchor-host/anchor-host/pipeline/media"
	"github.com/anchor-host/anchor-host/pipeline/message"
)

// outputTexts are the parts of an output that have tokens.
type outputTexts struct {
	texts    []string
	roles    []core.Role
	messages int
	chat     bool // a document of messages, even of none
	tools    string
	model    string         // its rules count media
	media    media.Estimate // of images, documents and sounds
}

func (o *outputTexts) reset() {
	clear(o.texts)
	*o = outputTexts{texts: o.texts[:0], roles: o.roles[:0], model: o.model}
}

func (o *outputTexts) add(text string) {
	if text != "" {
		o.texts = append(o.texts, text)
	}
}

func (o *outputTexts) addMedia(p *message.Part) {
	if e, ok := media.OfMessage(o.model, p); ok {
		source := cmp.Or(o.media.Source, e.Source)
		o.media = o.media.Add(e)
		o.media.Source = source
	}
}

func (o *outputTexts) message(role core.Role) {
	o.messages++
	o.roles = append(o.roles, role)
}

// read collects the texts of an output of a formatter.
func (o *outputTexts) read(output any) error {
	if format.Texts(output, o.message, o.add, o.addMedia) {
		o.chat, o.tools = true, string(format.ToolsOf(output))
		return nil
	}
	switch out := output.(type) {
	case string:
		o.add(out)
	case json.RawMessage:
		return o.readJSON(out)
	default:
		doc, err := json.Marshal(output)
		if err != nil {
			return fmt.Errorf("read output of type %T: %w", output, err)
		}
		return o.readJSON(doc)
	}
	return nil
}

// readJSON collects the texts of a document by its shape. A chat document has messages and
// may have a system prompt. Any other document counts as its JSON text.
func (o *outputTexts) readJSON(doc []byte) error {
	var text string
	if json.Unmarshal(doc, &text) == nil {
		o.add(text)
		return nil
	}
	var chat struct {
		System   json.RawMessage              `json:"system"`
		Messages []map[string]json.RawMessage `json:"messages"`
	}
	if json.Unmarshal(doc, &chat) != nil || chat.Messages == nil {
		var compact bytes.Buffer
		if err := json.Compact(&compact, doc); err != nil {
			return fmt.Errorf("read output: %w", err)
		}
		o.add(compact.String())
		return nil
	}
	o.chat = true
	if system := strings.TrimSpace(string(chat.System)); system != "" && system != "null" && system != "[]" && system != `""` {
		o.message(core.RoleSystem)
		o.addContent(chat.System)
	}
	for _, m := range chat.Messages {
		var role core.Role
		_ = json.Unmarshal(m["role"], &role) // a role of another type costs its JSON text, below
		o.message(role)
		for key, value := range m {
			if key != "role" && key != "cache_control" || key == "role" && role == "" {
				o.addContent(value)
			}
		}
	}
	return nil
}

// addContent collects the texts of a message's content: a string, or a list of blocks with
// texts. Any other content counts as its JSON text.
func (o *outputTexts) addContent(raw json.RawMessage) {
	var text string
	var blocks []struct {
		Type string  `json:"type"`
		Text *string `json:"text"`
	}
	switch {
	case json.Unmarshal(raw, &text) == nil:
		o.add(text)
	case json.Unmarshal(raw, &blocks) == nil && len(blocks) > 0:
		for i := range blocks {
			if blocks[i].Text == nil {
				o.add(string(raw)) // images, calls and the like, whose counts are not documented
				return
			}
		}
		for i := range blocks {
			o.add(*blocks[i].Text)
		}
	default:
		o.add(string(raw))
	}
}
