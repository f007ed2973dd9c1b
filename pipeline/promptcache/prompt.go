package promptcache

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/anchor-host/anchor-host/pipeline/core"
	"github.com/anchor-host/anchor-host/pipeline/format"
)

// Block is a piece of a prompt. A prompt cache keeps whole blocks.
type Block struct {
	// Role is the role of the block's message, empty if the prompt is not a chat.
	Role core.Role
	// Begins is true for the first block of a message.
	Begins bool
	// Text is the text of a text block, or the JSON of any other block, without cache marks.
	Text string
}

// Blocks returns the blocks of an output of a formatter, in the order in which a model
// reads them. For a document with messages these are the tools, the system blocks, and the blocks
// of the messages. A text or any other document is one block. Blocks leaves out cache marks.
func Blocks(output any) ([]Block, error) {
	var p promptReader
	switch out := output.(type) {
	case string:
		p.add("", true, out)
		return p.blocks, nil
	case *format.AnthropicOutput:
		if p.anthropic(out) {
			return p.blocks, nil
		}
	case json.RawMessage:
		return p.document(out)
	}
	doc, err := json.Marshal(output)
	if err != nil {
		return nil, fmt.Errorf("prompt: read output of type %T: %w", output, err)
	}
	p.blocks = nil
	return p.document(doc)
}

type promptReader struct{ blocks []Block }

func (p *promptReader) add(role core.Role, begins bool, text string) {
	p.blocks = append(p.blocks, Block{role, begins, text})
}

// anthropic reads an output without encoding it as JSON. It returns false when a message
// has blocks other than text.
func (p *promptReader) anthropic(out *format.AnthropicOutput) bool {
	p.tools(out.Tools)
	for i := range out.System {
		p.add(core.RoleSystem, i == 0, out.System[i].Text)
	}
	for i := range out.Messages {
		m := &out.Messages[i]
		switch content := m.Content.(type) {
		case string:
			p.add(m.Role, true, content)
		case []format.TextBlock:
			for j := range content {
				p.add(m.Role, j == 0, content[j].Text)
			}
		default:
			return false
		}
	}
	return true
}

// document reads a JSON document by its shape.
func (p *promptReader) document(doc []byte) ([]Block, error) {
	var text string
	if json.Unmarshal(doc, &text) == nil {
		p.add("", true, text)
		return p.blocks, nil
	}
	var chat struct {
		Tools        json.RawMessage              `json:"tools"`
		System       json.RawMessage              `json:"system"`
		Messages     []map[string]json.RawMessage `json:"messages"`
		Instructions json.RawMessage              `json:"instructions"`
		Input        []map[string]json.RawMessage `json:"input"`
		Instruction  map[string]json.RawMessage   `json:"systemInstruction"`
		Contents     []map[string]json.RawMessage `json:"contents"`
	}
	if json.Unmarshal(doc, &chat) != nil || chat.Messages == nil && chat.Input == nil && chat.Contents == nil {
		if !json.Valid(doc) {
			return nil, fmt.Errorf("prompt: read output: no JSON document: %w", core.ErrInvalid)
		}
		p.add("", true, canonical(doc))
		return p.blocks, nil
	}
	p.tools(chat.Tools)
	p.content(core.RoleSystem, chat.System)
	p.content(core.RoleSystem, chat.Instructions)
	p.content(core.RoleSystem, chat.Instruction["parts"])
	for _, list := range [][]map[string]json.RawMessage{chat.Messages, chat.Input, chat.Contents} {
		for _, m := range list {
			p.message(m)
		}
	}
	return p.blocks, nil
}

// tools adds the tools, which come before everything else.
func (p *promptReader) tools(raw json.RawMessage) {
	if len(raw) > 0 && string(raw) != "null" {
		p.add("", true, canonical(raw))
	}
}

// message reads the content or the parts of a message, and then its other members, sorted by
// name.
func (p *promptReader) message(m map[string]json.RawMessage) {
	var role core.Role
	_ = json.Unmarshal(m["role"], &role) // a role that is not a string counts as another member, below
	first := len(p.blocks)
	p.content(role, m["content"])
	p.content(role, m["parts"])
	for _, key := range slices.Sorted(maps.Keys(m)) {
		if key == "content" || key == "parts" || key == "cache_control" || key == "role" && role != "" {
			continue
		}
		p.add(role, len(p.blocks) == first, key+": "+canonical(m[key]))
	}
}

// content reads a string or a list of blocks.
func (p *promptReader) content(role core.Role, raw json.RawMessage) {
	if raw = bytes.TrimSpace(raw); len(raw) == 0 || string(raw) == "null" {
		return
	}
	var text string
	if json.Unmarshal(raw, &text) == nil {
		p.add(role, true, text)
		return
	}
	var blocks []map[string]json.RawMessage
	if json.Unmarshal(raw, &blocks) != nil {
		p.add(role, true, canonical(raw))
		return
	}
	for i, b := range blocks {
		delete(b, "cache_control")
		p.add(role, i == 0, blockText(b))
	}
}

func blockText(b map[string]json.RawMessage) string {
	var kind, text string
	if json.Unmarshal(b["type"], &kind) == nil && kind == "text" && len(b) == 2 && json.Unmarshal(b["text"], &text) == nil {
		return text
	}
	if len(b) == 1 && json.Unmarshal(b["text"], &text) == nil { // of Gemini
		return text
	}
	doc, err := json.Marshal(b) // Marshal sorts the keys of maps
	if err != nil {
		return ""
	}
	return string(doc)
}

// canonical writes a valid document without spaces and with the escapes of encoding/json, so
// that documents from files and from values are comparable.
func canonical(raw json.RawMessage) string {
	doc, err := json.Marshal(raw)
	if err != nil {
		return string(raw)
	}
	return string(doc)
}

// commonPrefix returns the length of the longest common beginning of two texts. It ends at a
// character boundary of both.
func commonPrefix(a, b string) int {
	n := min(len(a), len(b))
	at := 0
	for at < n && a[at] == b[at] {
		at++
	}
	for at > 0 && (at < len(a) && !utf8.RuneStart(a[at]) || at < len(b) && !utf8.RuneStart(b[at])) {
		at--
	}
	return at
}

// wholeWords returns how many bytes of a common beginning certainly have the same tokens in
// both texts. It is all of them when each text ends there or continues with white space.
// Otherwise the last word does not count. Where words have no visible end, all but the last
// characters count.
func wholeWords(a, b string, at int) int {
	if endsWord(a[at:]) && endsWord(b[at:]) {
		return at
	}
	if space := strings.LastIndexFunc(a[max(0, at-longWord):at], unicode.IsSpace); space >= 0 {
		return len(strings.TrimRightFunc(a[:max(0, at-longWord)+space], unicode.IsSpace))
	}
	if at <= longWord {
		return 0
	}
	for range 4 {
		_, size := utf8.DecodeLastRuneInString(a[:at])
		at -= size
	}
	return at
}

// longWord is the largest length in bytes of a word that wholeWords leaves out as a whole.
const longWord = 64

func endsWord(rest string) bool {
	r, _ := utf8.DecodeRuneInString(rest)
	return rest == "" || unicode.IsSpace(r)
}

// promptItem has the parts of an item that blame needs.
type promptItem struct {
	id, text string
	source   core.Source
}

// betweenItems is the largest number of bytes between two items: separators, headings, prefixes.
const betweenItems = 64

// itemAt returns the item whose text covers a position in a block. If there is none, it
// returns the next item if that begins within betweenItems bytes, and nil otherwise.
func itemAt(items []promptItem, text string, at int) *promptItem {
	var next *promptItem
	nearest := betweenItems + 1
	for i := range items {
		content := strings.TrimSpace(items[i].text)
		if content == "" {
			continue
		}
		from := max(0, at-len(content))
		region := text[from:min(len(text), at+len(content)+betweenItems)]
		for offset := 0; ; {
			found := strings.Index(region[offset:], content)
			if found < 0 {
				break
			}
			start := from + offset + found
			if start <= at && at < start+len(content) {
				return &items[i]
			}
			if start >= at {
				if start-at < nearest {
					next, nearest = &items[i], start-at
				}
				break
			}
			offset += found + 1
		}
	}
	return next
}
