package config

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/anchor-host/anchor-host/internal/strict"
	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/pipeline/core"
	"github.com/anchor-host/anchor-host/pipeline/message"
)

// Turn is one utterance.
type Turn struct {
	Role      string
	Content   string
	CreatedAt time.Time
	Metadata  map[string]any
	// Whole is the message of a turn that states more than a text. nil for all others.
	Whole *pipeline.Message
}

// turn is a Turn as a file states it.
type turn struct {
	Role       string         `key:"role,required" enum:"user,assistant,system,tool"`
	Content    anyJSON        `key:"content" doc:"The text, or a list of parts as an API has them, such as {type: image_url, image_url: {url}}. It may be missing beside tool_calls."`
	Name       string         `key:"name" doc:"The name of the speaker, or of the tool."`
	ToolCalls  anyJSON        `key:"tool_calls" doc:"The calls of tools, as OpenAI's chat has them: {id, type: function, function: {name, arguments}}."`
	ToolCallID string         `key:"tool_call_id" doc:"The id of the call that a turn of a tool answers."`
	CreatedAt  time.Time      `key:"created_at"`
	Metadata   map[string]any `key:"metadata" doc:"Further values of the turn, such as importance."`
}

// anyJSON is a text, or a list that is kept as JSON.
type anyJSON struct {
	text string
	list string
	set  bool
}

// UnmarshalNode decodes either form.
func (a *anyJSON) UnmarshalNode(d *strict.Decoder, n *strict.Node, path string) {
	if n.Kind != strict.List {
		d.Value(n, reflect.ValueOf(&a.text).Elem(), path)
		a.set = true
		return
	}
	data, err := n.JSON()
	if err != nil {
		d.Fail(n, path, "%v", err)
		return
	}
	a.list, a.set = string(data), true
}

// JSONSchema describes both forms.
func (*anyJSON) JSONSchema() map[string]any {
	return map[string]any{"type": []any{"string", "array"}, "items": map[string]any{"type": "object"}}
}

// json returns the value as JSON.
func (a *anyJSON) json() json.RawMessage {
	if a.list != "" {
		return json.RawMessage(a.list)
	}
	data, _ := json.Marshal(a.text) // cannot fail: it is a string
	return data
}

// UnmarshalNode decodes a turn, and makes a message of one that states more than a text.
func (t *Turn) UnmarshalNode(d *strict.Decoder, n *strict.Node, path string) {
	if n.Kind != strict.Map {
		d.Fail(n, path, "want a map")
		return
	}
	if ofAPI(n) {
		t.readMessage(d, n, path)
		return
	}
	var doc turn
	if !d.Into(n, &doc, path) {
		return
	}
	*t = Turn{Role: doc.Role, Content: doc.Content.text, CreatedAt: doc.CreatedAt, Metadata: doc.Metadata}
	switch {
	case !doc.Content.set && !doc.ToolCalls.set:
		d.Fail(n, path+".content", "missing")
	case doc.ToolCalls.set && doc.ToolCalls.list == "":
		at, _ := n.Find("tool_calls")
		d.Fail(at, path+".tool_calls", "want a list of calls")
	case doc.Content.list != "" || doc.ToolCalls.set || doc.Name != "" || doc.ToolCallID != "":
		m, err := doc.message()
		if err == nil && (doc.ToolCalls.list != "" && len(m.Calls()) == 0 || doc.ToolCallID != "" && len(m.Results()) == 0) {
			err = pipeline.ErrInvalid
		}
		if err == nil {
			err = checkMedia(m.Parts)
		}
		if err != nil {
			d.Fail(n, path, "%s", strings.TrimPrefix(err.Error(), "messages[0]."))
			return
		}
		whole := core.TurnOf(m)
		t.Content, t.Whole = whole.Content, whole.Whole
	}
}

// apiMembers are members that only messages of APIs have. Any of them makes a turn a message as an
// API writes it, with whatever other members it has.
var apiMembers = []string{
	"type", "parts", "refusal", "annotations", "audio", "function_call", "reasoning_content", "reasoning_details", "thinking_blocks",
	"provider_specific_fields",
}

// ofAPI reports whether a turn is written as a message of an API.
func ofAPI(n *strict.Node) bool {
	return slices.ContainsFunc(n.Entries(), func(e strict.Entry) bool {
		return slices.Contains(apiMembers, e.Key) || e.Key == "content" && e.Value.Kind == strict.Null || e.Key == "role" && slices.Contains([]string{"model", "developer", "function"}, e.Value.Text)
	})
}

// extras are the keys of a turn that no API has.
type extras struct {
	CreatedAt time.Time      `key:"created_at"`
	Metadata  map[string]any `key:"metadata"`
}

// readMessage decodes a turn that is written as a message of an API, beside which it can have its
// extras.
func (t *Turn) readMessage(d *strict.Decoder, n *strict.Node, path string) {
	var own, others []strict.Entry
	for _, e := range n.Entries() {
		if e.Key == "created_at" || e.Key == "metadata" {
			own = append(own, e)
		} else {
			others = append(others, e)
		}
	}
	var x extras
	if !d.Into(strict.NewMap(n.Pos, own...), &x, path) {
		return
	}
	rest := n // as it came, byte for byte
	if len(own) > 0 {
		rest = strict.NewMap(n.Pos, others...)
	}
	var m pipeline.Message
	data, err := rest.JSON()
	if err == nil {
		err = m.UnmarshalJSON(data)
	}
	if err == nil {
		err = checkMedia(m.Parts)
	}
	if err == nil && len(m.Parts) == 0 {
		err = fmt.Errorf("content: missing: %w", pipeline.ErrInvalid)
	}
	if err != nil {
		d.Fail(n, path, "%s", strings.TrimPrefix(err.Error(), "message: "))
		return
	}
	whole := core.TurnOf(m)
	*t = Turn{Role: string(whole.Role), Content: whole.Content, CreatedAt: x.CreatedAt, Metadata: x.Metadata, Whole: whole.Whole}
}

// ReadTurns reads messages as turns: one message, a list, or the body of a request to any of the
// APIs. A result may answer a call that is not among them, because a conversation may have it.
func ReadTurns(data []byte) ([]pipeline.Turn, error) {
	var one struct {
		Role *json.RawMessage `json:"role"`
	}
	if trimmed := bytes.TrimSpace(data); bytes.HasPrefix(trimmed, []byte("{")) && json.Unmarshal(trimmed, &one) == nil && one.Role != nil {
		data = slices.Concat([]byte("["), trimmed, []byte("]"))
	}
	body, err := message.DecodeBody(data, message.FormAny)
	if err != nil {
		return nil, err
	}
	turns := make([]pipeline.Turn, len(body.Messages))
	for i := range body.Messages {
		m := &body.Messages[i]
		if err := checkMedia(m.Parts); err != nil {
			return nil, fmt.Errorf("messages[%d].%w", i, err)
		}
		if turns[i] = core.TurnOf(*m); len(m.Parts) == 0 {
			return nil, fmt.Errorf("messages[%d]: %w (it has no content)", i, pipeline.ErrInvalid)
		}
	}
	return turns, nil
}

// checkMedia refuses images and sounds without content: the rest of a turn may answer a turn that
// a store has, so a message of it cannot be checked as a list.
func checkMedia(parts []message.Part) error {
	for i := range parts {
		p := &parts[i]
		if p.Kind != message.Image && p.Kind != message.Audio {
			continue
		}
		if m := p.Media; m == nil || m.Data == "" && m.URL == "" && m.FileID == "" {
			return fmt.Errorf("content[%d]: the %s has no data, address or file", i, p.Kind)
		}
	}
	return nil
}

// message returns the turn as a message. The names of its parts say which API has such a message.
func (t *turn) message() (pipeline.Message, error) {
	members := map[string]json.RawMessage{}
	text := func(key, value string) {
		if value != "" {
			members[key], _ = json.Marshal(value) // cannot fail: it is a string
		}
	}
	role, list := t.Role, "content"
	var parts []map[string]json.RawMessage
	if t.Content.list != "" && json.Unmarshal([]byte(t.Content.list), &parts) == nil && len(parts) > 0 {
		kind := string(parts[0]["type"])
		switch {
		case kind == "" && role == "assistant":
			role, list = "model", "parts" // the form of Gemini
		case kind == "":
			role, list = "user", "parts"
		case kind == `"tool_result"`:
			role = "user" // the form of Anthropic
		}
	}
	text("role", role)
	text("name", t.Name)
	text("tool_call_id", t.ToolCallID)
	if t.Content.set {
		members[list] = t.Content.json()
	}
	if t.ToolCalls.list != "" {
		members["tool_calls"] = json.RawMessage(t.ToolCalls.list)
	}
	if role == "tool" && t.ToolCallID == "" && t.Name == "" && t.Content.list == "" {
		return message.NewResult("", "", t.Content.text), nil
	}
	var doc strings.Builder
	doc.WriteString("[{")
	for _, key := range []string{"role", "name", "tool_call_id", list, "tool_calls"} {
		if value, ok := members[key]; ok {
			if doc.Len() > 2 {
				doc.WriteByte(',')
			}
			doc.WriteString(`"` + key + `":` + string(value))
		}
	}
	doc.WriteString("}]")
	messages, err := message.DecodeList([]byte(doc.String()))
	if err != nil {
		return pipeline.Message{}, err
	}
	return messages[0], nil
}

// JSONSchema describes both forms of a turn.
func (*Turn) JSONSchema() map[string]any {
	var marks []any
	for _, member := range apiMembers {
		marks = append(marks, map[string]any{"required": []any{member}})
	}
	marks = append(marks, map[string]any{"properties": map[string]any{"content": map[string]any{"type": "null"}}, "required": []any{"content"}})
	marks = append(marks, map[string]any{"properties": map[string]any{"role": map[string]any{"enum": []any{"model", "developer", "function"}}}, "required": []any{"role"}})
	return map[string]any{"anyOf": []any{strict.Schema(reflect.TypeFor[turn]()), map[string]any{
		"type": "object", "anyOf": marks,
		"description": "A message or an item as an API writes it, such as {role: model, parts: [{text}]}. It can have created_at and metadata, too.",
	}}}
}
