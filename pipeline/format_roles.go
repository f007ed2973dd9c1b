package pipeline

import (
	"encoding/json"
	"slices"
)

// spoken is what a conversation vouches for about an item it made of a tool or system
// turn, or of an assistant's turn with tool calls. Metadata can say the same, but
// anybody may have written them: only what is spoken speaks as a tool or the system.
type spoken struct {
	role    Role
	content string
	name    string
	callID  string
	calls   []toolCall
}

// toolCall is one call of a tool, as OpenAI ({id, function: {name, arguments}}) or as
// Anthropic ({id, name, input}) writes it.
type toolCall struct {
	ID       string `json:"id"`
	Name     string `json:"name"`
	Function struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	} `json:"function"`
	Input json.RawMessage `json:"input"`
}

func (c *toolCall) name() string {
	if c.Function.Name != "" {
		return c.Function.Name
	}
	return c.Name
}

// input returns the arguments, a JSON object.
func (c *toolCall) input() json.RawMessage {
	for _, in := range []json.RawMessage{c.Input, json.RawMessage(c.Function.Arguments)} {
		var object map[string]json.RawMessage
		if json.Unmarshal(in, &object) == nil && object != nil {
			return in
		}
	}
	return json.RawMessage("{}")
}

// spokenBy returns what a turn vouches for, nil for a plain turn.
func spokenBy(t *Turn) *spoken {
	m, err := t.message()
	if err != nil || m.Role == RoleUser || m.Role == RoleAssistant && m.ToolCalls == nil {
		return nil
	}
	s := &spoken{role: m.Role, content: t.Content, name: m.Name, callID: m.ToolCallID}
	if m.Role == RoleAssistant && json.Unmarshal(m.ToolCalls, &s.calls) != nil {
		return nil
	}
	return s
}

// said returns what is vouched for, nil if nothing is, or the text is another now.
func (it *Item) said() *spoken {
	if it.spoken != nil && it.spoken.content == it.Content {
		return it.spoken
	}
	return nil
}

// turnMessages makes messages of turns. Calls of tools are only kept together with
// all their results, directly after them: no API takes one without the other.
func turnMessages(turns []*Item) []chatMessage {
	messages := make([]chatMessage, 0, len(turns))
	for i := 0; i < len(turns); {
		it := turns[i]
		s, results := it.said(), answered(turns[i:])
		m := chatMessage{role: roleOf(it), parts: []string{it.Content}}
		if s != nil && s.role == RoleSystem {
			m.role = RoleSystem
		}
		if results > 0 {
			m.calls = s.calls
		}
		messages = append(messages, m)
		for _, it := range turns[i+1 : i+1+results] {
			messages = append(messages, chatMessage{role: RoleTool, parts: []string{it.Content}, result: it.spoken})
		}
		i += 1 + results
	}
	return messages
}

// answered returns the number of turns after the first that are results of the calls
// in it; 0 if there are no calls, or not all are answered once.
func answered(turns []*Item) int {
	s := turns[0].said()
	if s == nil || len(s.calls) == 0 || len(s.calls) >= len(turns) {
		return 0
	}
	var open []string
	for i := range s.calls {
		if id := s.calls[i].ID; id == "" || slices.Contains(open, id) || s.calls[i].name() == "" {
			return 0
		}
		open = append(open, s.calls[i].ID)
	}
	n := len(open)
	for _, it := range turns[1 : 1+n] {
		r := it.said()
		if r == nil || r.role != RoleTool || !slices.Contains(open, r.callID) {
			return 0
		}
		open = slices.DeleteFunc(open, func(id string) bool { return id == r.callID })
	}
	return n
}

// openAICalls writes tool calls for the chat completions API.
func openAICalls(calls []toolCall) json.RawMessage {
	type function struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	}
	type call struct {
		ID       string   `json:"id"`
		Type     string   `json:"type"`
		Function function `json:"function"`
	}
	out := make([]call, len(calls))
	for i := range calls {
		out[i] = call{calls[i].ID, "function", function{calls[i].name(), string(calls[i].input())}}
	}
	data, _ := json.Marshal(out) // strings alone
	return data
}

// ToolUseBlock is a content block of type "tool_use".
type ToolUseBlock struct {
	Type  string          `json:"type"`
	ID    string          `json:"id"`
	Name  string          `json:"name"`
	Input json.RawMessage `json:"input"`
}

// ToolResultBlock is a content block of type "tool_result".
type ToolResultBlock struct {
	Type      string `json:"type"`
	ToolUseID string `json:"tool_use_id"`
	Content   string `json:"content"`
}
