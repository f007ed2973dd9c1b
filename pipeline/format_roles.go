package pipeline

import (
	"encoding/json"
	"slices"
)

// turnMessages makes messages of turns. Calls of tools are only kept together with
// all their results, directly after them: no API takes one without the other.
func turnMessages(turns []*Item) []chatMessage {
	messages := make([]chatMessage, 0, len(turns))
	for i := 0; i < len(turns); {
		it := turns[i]
		s, results := it.turn(), answered(turns[i:])
		m := chatMessage{role: roleOf(it), parts: []string{it.Content}}
		if s != nil && s.role == RoleSystem {
			m.role = RoleSystem
		}
		if results > 0 {
			m.calls = s.calls
		}
		messages = append(messages, m)
		for _, it := range turns[i+1 : i+1+results] {
			messages = append(messages, chatMessage{role: RoleTool, parts: []string{it.Content}, result: it.provenance})
		}
		i += 1 + results
	}
	return messages
}

// answered returns the number of turns after the first that are results of the calls
// in it; 0 if there are no calls, or not all are answered once.
func answered(turns []*Item) int {
	s := turns[0].turn()
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
		r := it.turn()
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
