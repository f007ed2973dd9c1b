package format

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/anchor-host/anchor-host/pipeline/core"
	"github.com/anchor-host/anchor-host/pipeline/message"
)

// Whole is a message of a turn, or one of its parts, in the form of the API. It has what a text
// cannot state: images, reasoning, and results with several parts.
type Whole struct {
	// JSON is the value. If the turn came in the form of the API, it is as it came.
	JSON json.RawMessage
	// Role is that of the message, empty for a part.
	Role core.Role
	// Parts are the parts that the value holds.
	Parts []message.Part
}

// MarshalJSON returns JSON.
func (w Whole) MarshalJSON() ([]byte, error) { return w.JSON, nil }

// isWhole reports whether a turn has more than a text, calls, and one result of a text.
func isWhole(m *core.Message) bool {
	if m == nil || m.Instructs() {
		return false
	}
	results := m.Results()
	if m.Raw() != "" || len(results) > 1 || len(results) == 1 && m.Role != core.RoleTool {
		return true
	}
	for i := range m.Parts {
		switch p := &m.Parts[i]; p.Kind {
		case message.Text, message.ToolCall:
		case message.ToolResult:
			if len(p.Parts) != 1 || p.Parts[0].Kind != message.Text {
				return true
			}
		default:
			return true
		}
	}
	return false
}

// wholeTurns writes turns as whole messages.
type wholeTurns struct {
	form message.Form
	used map[string]bool // the ids of the calls so far
	lost []string        // one line for each part of a turn that is left out
	// refused is how many turns are left of an exchange that was not written.
	refused int
}

// next returns the messages of the first turns and the number of these turns, 0 if the first
// turn has to be written as a text. Calls come with all their results, and none is repeated. n is how
// many of the turns are an exchange, 0 for none.
func (w *wholeTurns) next(turns []*core.Item, n int) ([]chatMessage, int) {
	w.refused--
	if parts := turns[0].Parts(); parts != nil {
		m := message.New(roleOf(turns[0]), turns[0].Content)
		m.Parts = append(m.Parts, parts...)
		return w.attach(turns[0], m), 1
	}
	// What was refused is not tried again for each turn in it: its ids are used, anyway.
	if n > 2 && w.refused > 0 {
		n = 0
	}
	if n > 0 {
		if messages := w.exchange(turns[:n]); messages != nil {
			return messages, n
		}
		w.refused = max(w.refused, n)
	}
	m := turns[0].Turn()
	if !isWhole(m) {
		return nil, 0
	}
	rest := core.Message{Role: core.RoleUser}
	if m.Role == core.RoleAssistant {
		rest.Role = core.RoleAssistant
	}
	for _, p := range m.Parts {
		switch p.Kind {
		case message.ToolResult: // its call is missing
			rest.Parts = append(rest.Parts, p.Parts...)
		case message.ToolCall, message.Thinking, message.Unknown:
		default:
			rest.Parts = append(rest.Parts, p)
		}
	}
	if core.Media(rest.Parts) == 0 {
		return nil, 0
	}
	messages := w.write(turns, []core.Message{rest})
	if messages != nil {
		w.drop(turns[0], func(p *message.Part) bool {
			return p.Kind == message.ToolCall || p.Kind == message.Thinking || p.Kind == message.Unknown
		})
	}
	return messages, 1
}

// exchange returns the messages of turns that belong together, nil if none is more than texts, or if
// they have to be written as texts.
func (w *wholeTurns) exchange(turns []*core.Item) []chatMessage {
	if !slices.ContainsFunc(turns, func(it *core.Item) bool { return isWhole(it.Turn()) }) {
		return nil
	}
	list := make([]core.Message, len(turns))
	for i, it := range turns {
		if turn := it.Turn(); turn != nil {
			list[i] = turn.Clone()
			continue
		}
		list[i] = message.New(core.RoleAssistant, it.Content)
	}
	if !w.name(turns, list) {
		return nil
	}
	return w.write(turns, list)
}

// attach writes a message with the parts of an item. It returns nil if the API refuses it.
func (w *wholeTurns) attach(it *core.Item, m core.Message) []chatMessage {
	before := len(w.lost)
	messages := w.write([]*core.Item{it}, []core.Message{m})
	if messages == nil {
		w.lost = append(w.lost, lostParts(it)...)
		return nil
	}
	texts := len(m.Parts) - len(it.Parts()) // before them
	for i, line := range w.lost[before:] {
		head, tail, ok := strings.Cut(line, ": content[")
		if j, rest := index(tail); ok && j >= texts {
			w.lost[before+i] = fmt.Sprintf("%s: parts[%d]%s", head, j-texts, rest)
		}
	}
	return messages
}

// lostParts returns a line for each of the parts that [core.Item.SetParts] gave an item.
func lostParts(it *core.Item) (lines []string) {
	for i, p := range it.Parts() {
		lines = append(lines, fmt.Sprintf("%s: parts[%d]: %s", it.ID, i, p.Kind))
	}
	return lines
}

// drop notes the parts of a turn that are left out.
func (w *wholeTurns) drop(turn *core.Item, leaves func(*message.Part) bool) {
	m := turn.Turn()
	if m == nil {
		return
	}
	for i := range m.Parts {
		p := &m.Parts[i]
		if !leaves(p) {
			continue
		}
		what := string(p.Kind)
		if p.Kind == message.ToolCall {
			what = fmt.Sprintf("call of %.100s without its result", p.Name)
		}
		w.lost = append(w.lost, fmt.Sprintf("%s: content[%d]: %s", turn.ID, i, what))
	}
}

// name gives calls and results without an id the same one in each window, and reports whether no
// id was used before.
func (w *wholeTurns) name(turns []*core.Item, list []core.Message) bool {
	waiting := make(map[string][]string) // by the name of the tool
	var ids []string
	for i := range list {
		for j := range list[i].Parts {
			p := &list[i].Parts[j]
			switch {
			case p.Kind == message.ToolCall:
				if p.ID == "" && w.form != message.FormGemini {
					p.ID = fmt.Sprintf("call_%d_%d", turns[i].Sequence, j)
					waiting[p.Name] = append(waiting[p.Name], p.ID)
				}
				if p.ID != "" {
					ids = append(ids, p.ID)
				}
			case p.Kind == message.ToolResult && p.ID == "" && len(waiting[p.Name]) > 0:
				p.ID, waiting[p.Name] = waiting[p.Name][0], waiting[p.Name][1:]
			}
		}
	}
	for _, id := range ids {
		if w.used[id] {
			return false
		}
	}
	for _, id := range ids {
		w.used[id] = true
	}
	return true
}

// write returns messages in the form of the API, nil if it refuses them. It notes what the form
// has no place for. turns are those of the messages.
func (w *wholeTurns) write(turns []*core.Item, list []core.Message) []chatMessage {
	list, lost, err := message.Lossy(list, w.form)
	if err != nil || len(list) == 0 || message.Check(append(slices.Clip(list), message.New(core.RoleUser, "next")), w.form) != nil {
		return nil // the last message may be empty, but others follow these
	}
	messages := make([]chatMessage, len(list))
	for i := range list {
		if list[i].Raw() == "" || len(list[i].Parts) == 0 {
			return nil
		}
		messages[i] = chatMessage{role: list[i].Role, whole: &list[i]}
	}
	for _, line := range lost {
		w.lost = append(w.lost, ofTurn(turns, line))
	}
	return messages
}

// ofTurn names the turn in a line that names its message by index.
func ofTurn(turns []*core.Item, line string) string {
	tail, ok := strings.CutPrefix(line, "messages[")
	if i, rest := index(tail); ok && i >= 0 && i < len(turns) {
		return turns[i].ID + ": " + strings.TrimLeft(rest, ".: ")
	}
	return line
}

// index returns the number before the first bracket of a text, and what follows that. The number is
// -1 if there is none.
func index(text string) (int, string) {
	number, rest, ok := strings.Cut(text, "]")
	if i, err := strconv.Atoi(number); ok && err == nil {
		return i, rest
	}
	return -1, text
}

// value returns the message for the body.
func (m *chatMessage) value() Whole {
	return Whole{JSON: json.RawMessage(m.whole.Raw()), Role: m.role, Parts: m.whole.Parts}
}

// texts counts a value by the texts of its parts, and its media by their number.
func (w *Whole) texts(text func(string), media func(*message.Part)) { partTexts(w.Parts, text, media) }

func partTexts(parts []message.Part, text func(string), media func(*message.Part)) {
	for i := range parts {
		p := &parts[i]
		switch p.Kind {
		case message.Image, message.Document, message.Audio:
			media(p)
			if p.Media != nil {
				text(p.Media.Title)
				text(p.Media.Text)
			}
		case message.Thinking: // only the API reads it
		case message.Unknown:
			text(message.Visible(p.Raw()))
		default:
			for _, s := range [...]string{p.Text, p.ID, p.Name, p.Arguments} {
				text(s)
			}
		}
		if p.Kind != message.Thinking && p.Kind != message.Unknown {
			partTexts(p.Parts, text, media)
		}
	}
}

// chatMessage is a message with one or more texts that are not joined yet.
type chatMessage struct {
	role  core.Role
	parts []string
	// calls are the tool calls of an assistant's message whose results follow. result is
	// the result in a tool's message.
	calls  []*message.Part
	result *message.Part
	// whole is the message itself, in the form of the API, if it is more than texts. There are
	// then no parts.
	whole *core.Message
	// cited are blocks that stand before the parts: the context, for citations.
	cited []any
	// cached is the number of parts, from the first, that end with a cache mark.
	cached int
}

// roleOf returns the role in the metadata of a turn, if its source allows that role, and
// user otherwise. Only system items may have the role system, and only tool items the role
// tool.
func roleOf(it *core.Item) core.Role {
	role := core.RoleUser
	if v, ok := it.Metadata["role"]; ok {
		role = core.Role(fmt.Sprint(v))
	}
	switch {
	case role == core.RoleAssistant,
		role == core.RoleSystem && it.Source == core.SourceSystem,
		role == core.RoleTool && (it.Source == core.SourceSystem || it.Source == core.SourceTool):
		return role
	}
	return core.RoleUser
}
