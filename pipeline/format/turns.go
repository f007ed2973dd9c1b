package format

import (
	"encoding/json"
	"strings"

	"github.com/anchor-host/anchor-host/pipeline/core"
	"github.com/anchor-host/anchor-host/pipeline/message"
)

// turnMessages makes messages from turns. It keeps tool calls only if all their results
// directly follow them, because no API takes one without the other. lost has a line for each part
// that it leaves out.
func turnMessages(turns []*core.Item, form message.Form) (messages []chatMessage, lost []string) {
	messages = make([]chatMessage, 0, len(turns))
	whole := wholeTurns{form: form, used: make(map[string]bool)}
	lengths := exchanges(turns)
	for i := 0; i < len(turns); {
		if list, n := whole.next(turns[i:], lengths[i]); list != nil {
			messages = append(messages, list...)
			i += n
			continue
		}
		it := turns[i]
		m := chatMessage{role: roleOf(it), parts: []string{it.Content}, calls: answered(turns[i:])}
		if m.calls != nil && strings.TrimSpace(it.Content) == "" {
			m.parts = nil
		}
		if turn := it.Turn(); turn != nil && turn.Role == core.RoleSystem {
			m.role = core.RoleSystem
		}
		whole.drop(it, func(p *message.Part) bool {
			return p.Kind != message.ToolCall && !isText(p) || p.Kind == message.ToolCall && m.calls == nil
		})
		messages = append(messages, m)
		results := turns[i+1 : i+1+len(m.calls)]
		for _, it := range results {
			messages = append(messages, chatMessage{role: core.RoleTool, parts: []string{it.Content}, result: it.Turn().Results()[0]})
		}
		i += 1 + len(results)
	}
	return messages, whole.lost
}

// isText reports whether the text of a turn holds what a part has.
func isText(p *message.Part) bool {
	return p.Kind == message.Text || p.Kind == message.Refusal || p.Kind == message.ToolResult
}

// answered returns the calls in the first turn if the turns after it are their results and
// answer each call once. Otherwise, and if there are no calls, it returns nil.
func answered(turns []*core.Item) []*message.Part {
	calls := callsOf(turns[0].Turn())
	if len(calls) == 0 || len(calls) >= len(turns) {
		return nil
	}
	open := make(map[string]bool, len(calls))
	for i := range calls {
		if id := calls[i].ID; id == "" || open[id] || calls[i].Name == "" {
			return nil
		}
		open[calls[i].ID] = true
	}
	for _, it := range turns[1 : 1+len(calls)] {
		m := it.Turn()
		if m == nil || m.Role != core.RoleTool || len(m.Results()) != 1 || !open[m.Results()[0].ID] {
			return nil
		}
		delete(open, m.Results()[0].ID)
	}
	return calls
}

// callsOf returns the tool calls of an assistant's turn, nil if it has none.
func callsOf(turn *core.Message) []*message.Part {
	if turn == nil || turn.Role != core.RoleAssistant {
		return nil
	}
	return turn.Calls()
}

// openAICalls writes tool calls for the chat completions API.
func openAICalls(calls []*message.Part) json.RawMessage {
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
		out[i] = call{calls[i].ID, "function", function{calls[i].Name, string(inputOf(calls[i]))}}
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

// inputOf returns the arguments of a call as a JSON object.
func inputOf(call *message.Part) json.RawMessage {
	in := json.RawMessage(call.Arguments)
	var object map[string]json.RawMessage
	if json.Unmarshal(in, &object) == nil && object != nil {
		return in
	}
	return json.RawMessage("{}")
}
