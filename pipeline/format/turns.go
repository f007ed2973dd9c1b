package format

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/anchor-host/anchor-host/pipeline/core"
)

// turnMessages makes messages from turns. It keeps tool calls only if all their results
// directly follow them, because no API takes one without the other.
func turnMessages(turns []*core.Item) []chatMessage {
	messages := make([]chatMessage, 0, len(turns))
	for i := 0; i < len(turns); {
		it := turns[i]
		m := chatMessage{role: roleOf(it), parts: []string{it.Content}, calls: answered(turns[i:])}
		if turn := it.Turn(); turn != nil && turn.Role == core.RoleSystem {
			m.role = core.RoleSystem
		}
		messages = append(messages, m)
		results := turns[i+1 : i+1+len(m.calls)]
		for _, it := range results {
			messages = append(messages, chatMessage{role: core.RoleTool, parts: []string{it.Content}, result: it.Turn()})
		}
		i += 1 + len(results)
	}
	return messages
}

// answered returns the calls in the first turn if the turns after it are their results and
// answer each call once. Otherwise, and if there are no calls, it returns nil.
func answered(turns []*core.Item) []toolCall {
	calls := callsOf(turns[0].Turn())
	if len(calls) == 0 || len(calls) >= len(turns) {
		return nil
	}
	var open []string
	for i := range calls {
		if id := calls[i].ID; id == "" || slices.Contains(open, id) || calls[i].name() == "" {
			return nil
		}
		open = append(open, calls[i].ID)
	}
	for _, it := range turns[1 : 1+len(calls)] {
		r := it.Turn()
		if r == nil || r.Role != core.RoleTool || !slices.Contains(open, r.ToolCallID) {
			return nil
		}
		open = slices.DeleteFunc(open, func(id string) bool { return id == r.ToolCallID })
	}
	return calls
}

// callsOf returns the tool calls of an assistant's turn, nil if it has none that are valid.
func callsOf(turn *core.Message) (calls []toolCall) {
	if turn == nil || turn.Role != core.RoleAssistant || json.Unmarshal(turn.ToolCalls, &calls) != nil {
		return nil
	}
	return calls
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
	data, _ := json.Marshal(out) // cannot fail: out has only strings
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

// toolCall is one call of a tool. It decodes the form of OpenAI ({id, function: {name,
// arguments}}) and that of Anthropic ({id, name, input}).
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

// input returns the arguments as a JSON object.
func (c *toolCall) input() json.RawMessage {
	for _, in := range []json.RawMessage{c.Input, json.RawMessage(c.Function.Arguments)} {
		var object map[string]json.RawMessage
		if json.Unmarshal(in, &object) == nil && object != nil {
			return in
		}
	}
	return json.RawMessage("{}")
}

// chatMessage is a message with one or more texts that are not joined yet.
type chatMessage struct {
	role  core.Role
	parts []string
	// calls are the tool calls of an assistant's message whose results follow. result is
	// the rest of a tool's message besides its text.
	calls  []toolCall
	result *core.Message
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
