package core

import (
	"encoding/json"
	"fmt"

	"github.com/anchor-host/anchor-host/pipeline/message"
)

// SetTurn records that the item is a turn of a conversation. Formatters then write it as a
// message of the turn's role. Metadata alone do not permit the roles tool and system. The
// record is valid as long as the content of the item is the content of the turn.
func (it *Item) SetTurn(t *Turn) {
	it.turn = nil
	m, err := t.Message()
	if err == nil && t.Whole != nil {
		it.turn = &m
		return
	}
	if err != nil || m.Role == RoleUser || m.Role == RoleAssistant && len(m.Calls()) == 0 {
		return // a plain turn needs no permission
	}
	it.turn = &m
}

// Turn returns the turn that SetTurn recorded: one of a tool or of the system, one of the
// assistant with tool calls, or one that was made from a whole message. It is nil if there is none, or if the content has changed
// since. Metadata can hold the same values, but any step may have written those. The
// message must not be changed.
func (it *Item) Turn() *Message {
	if it.turn != nil && it.turn.Role != "" && it.turn.Text() == it.Content {
		return it.turn
	}
	return nil
}

// SetParts gives the item images, documents and sounds, which go into the window beside its text.
// They stay with it when a step changes the text. The item then is not the turn of a conversation.
// Other kinds of parts are refused: a text belongs into Content, and calls into turns. The parts
// must not be changed afterwards.
func (it *Item) SetParts(parts []message.Part) error {
	for i := range parts {
		p := &parts[i]
		switch p.Kind {
		case message.Image, message.Document, message.Audio:
		default:
			return fmt.Errorf("parts[%d]: %s: %w (want an image, a document or a sound)", i, p.Kind, ErrInvalid)
		}
		if m := p.Media; (m == nil || m.Data == "" && m.URL == "" && m.FileID == "" && m.Text == "") && len(p.Parts) == 0 {
			return fmt.Errorf("parts[%d]: the %s has no data, address or file: %w", i, p.Kind, ErrInvalid)
		}
	}
	if it.turn = nil; len(parts) > 0 {
		it.turn = &Message{Parts: parts}
	}
	return nil
}

// Parts returns what SetParts has given, nil if there is nothing.
func (it *Item) Parts() []message.Part {
	if it.turn == nil || it.turn.Role != "" {
		return nil
	}
	return it.turn.Parts
}

// TurnOf returns the turn of a whole message. A message of the developer is a turn of the
// system. One with nothing but results, as some APIs have it for the user, is a turn of the tool.
func TurnOf(m Message) Turn {
	m = m.Clone()
	role := m.Role
	switch {
	case role == RoleDeveloper:
		role = RoleSystem
	case role == RoleUser && len(m.Parts) > 0 && len(m.Results()) == len(m.Parts):
		role = RoleTool
	}
	return Turn{Role: role, Content: m.Text(), Whole: &m}
}

// SetText replaces the text of a turn. Of a whole message, its calls and the ids of its results
// stay, so that it can still be sent; its media and its reasoning are lost. The first of several
// results gets the text.
func (t *Turn) SetText(text string) {
	t.Content = text
	if t.Whole == nil {
		return
	}
	m := Message{Role: t.Whole.Role, Name: t.Whole.Name}
	for _, r := range t.Whole.Results() {
		m.Parts = append(m.Parts, message.NewResult(r.ID, r.Name, text).Parts...)
		text = ""
	}
	if text != "" {
		m.Parts = append(m.Parts, message.Part{Kind: message.Text, Text: text})
	}
	for _, c := range t.Whole.Calls() {
		m.Parts = append(m.Parts, message.NewCall(c.ID, c.Name, c.Arguments))
	}
	t.Content, t.Whole = m.Text(), &m
}

// Media returns how many images, documents and sounds the turn has, those in results included.
func (t *Turn) Media() int {
	if t.Whole == nil {
		return 0
	}
	return Media(t.Whole.Parts)
}

// Media returns how many images, documents and sounds are in parts and in their parts.
func Media(parts []message.Part) (n int) {
	for i := range parts {
		switch p := &parts[i]; p.Kind {
		case message.Image, message.Document, message.Audio:
			n++
		default:
			n += Media(p.Parts)
		}
	}
	return n
}

// Message returns the turn as a message: a copy of Whole, if there is one. Otherwise the metadata name, tool_call_id and tool_calls
// become the name of the message or of the tool, the id of its result, and its calls. The
// call fails if tool_calls are not a list of tool calls.
func (t *Turn) Message() (Message, error) {
	if t.Whole != nil {
		return t.Whole.Clone(), nil
	}
	name, _ := t.Metadata["name"].(string)
	if t.Role == RoleTool {
		id, _ := t.Metadata["tool_call_id"].(string)
		return message.NewResult(id, name, t.Content), nil
	}
	m := message.New(t.Role, t.Content)
	m.Name = name
	if calls := t.Metadata["tool_calls"]; calls != nil {
		data, err := json.Marshal(calls)
		if err != nil {
			return m, fmt.Errorf("turn %d: tool_calls: %w", t.Sequence, err)
		}
		parts, err := ToolCalls(data)
		if err != nil {
			return m, fmt.Errorf("turn %d: %w", t.Sequence, err)
		}
		m.Parts = append(m.Parts, parts...)
	}
	return m, nil
}

// ToolCalls returns the parts of a JSON list of tool calls, each in the form of OpenAI's chat
// ({id, function: {name, arguments}}) or of Anthropic ({id, name, input}). null is an empty
// list.
func ToolCalls(data json.RawMessage) ([]message.Part, error) {
	var calls []struct {
		ID       string          `json:"id"`
		Name     string          `json:"name"`
		Input    json.RawMessage `json:"input"`
		Function struct {
			Name      string `json:"name"`
			Arguments string `json:"arguments"`
		} `json:"function"`
	}
	if len(data) > 0 && json.Unmarshal(data, &calls) != nil {
		return nil, fmt.Errorf("tool_calls: %.40s: %w (want a list of tool calls)", data, ErrInvalid)
	}
	parts := make([]message.Part, len(calls))
	for i := range calls {
		c := &calls[i]
		parts[i] = message.NewCall(c.ID, c.Function.Name, c.Function.Arguments)
		if c.Function.Name == "" {
			parts[i].Name = c.Name
		}
		if len(c.Input) > 0 {
			parts[i].Arguments = string(c.Input)
		}
	}
	return parts, nil
}
