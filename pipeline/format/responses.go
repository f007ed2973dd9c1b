package format

import (
	"context"
	"encoding/json"

	"github.com/anchor-host/anchor-host/pipeline/core"
	"github.com/anchor-host/anchor-host/pipeline/message"
)

// Responses formats for the Responses API of OpenAI. Its output is a [*ResponsesOutput].
type Responses struct {
	// Params are what the body states besides the window.
	Params Params
}

// ResponsesOutput is the document that [Responses] makes.
type ResponsesOutput struct {
	// Model, Instructions, Tools and MaxOutputTokens are left out of the document if they are
	// empty.
	Model        string `json:"model,omitempty"`
	Instructions string `json:"instructions,omitempty"`
	// Input has items of the types ResponsesMessage, ResponsesCall and ResponsesResult, and
	// Whole for an item that is more than these.
	Input           []any           `json:"input"`
	Tools           json.RawMessage `json:"tools,omitempty"`
	MaxOutputTokens int             `json:"max_output_tokens,omitempty"`
}

// ResponsesMessage is an item that is a message.
type ResponsesMessage struct {
	Role    core.Role `json:"role"`
	Content string    `json:"content"`
}

// ResponsesCall is the item of a call of a tool. Its type is "function_call".
type ResponsesCall struct {
	Type   string `json:"type"`
	CallID string `json:"call_id"`
	Name   string `json:"name"`
	// Arguments is a JSON object.
	Arguments string `json:"arguments"`
}

// ResponsesResult is the item of the result of a tool. Its type is "function_call_output".
type ResponsesResult struct {
	Type   string `json:"type"`
	CallID string `json:"call_id"`
	Output string `json:"output"`
}

// Append implements [Body].
func (out *ResponsesOutput) Append(dst []byte, indent string) ([]byte, error) {
	return appendMembers(dst, indent, member{"model", out.Model, false}, member{"instructions", out.Instructions, false},
		member{"input", out.Input, true}, member{"tools", out.Tools, false}, member{"max_output_tokens", out.MaxOutputTokens, false})
}

// FormatType returns "openai-responses".
func (Responses) FormatType() string { return "openai-responses" }

// Format returns a [*ResponsesOutput]: the system prompts as instructions, then a user message
// with the context, the turns and the query. It merges neighboring messages of equal role. A
// system turn of a conversation becomes a message of the developer, which is what the API calls
// the system. Calls of tools and their results become items of their own.
func (f Responses) Format(_ context.Context, w *core.Window) (any, error) {
	s := divide(w)
	messages := s.chatMessages(api{form: message.FormResponses, prefix: openAIContext, whole: true})
	out := &ResponsesOutput{
		Model: f.Params.Model, Instructions: s.systemText(), Input: make([]any, 0, len(messages)), Tools: w.Tools,
		MaxOutputTokens: f.Params.MaxOutputTokens,
	}
	for i := range messages {
		m := &messages[i]
		if m.whole != nil {
			out.Input = append(out.Input, m.value())
			continue
		}
		if m.result != nil {
			out.Input = append(out.Input, ResponsesResult{"function_call_output", m.result.ID, m.text()})
			continue
		}
		role := m.role
		if role == core.RoleSystem {
			role = core.RoleDeveloper
		}
		if text := m.text(); text != "" {
			out.Input = append(out.Input, ResponsesMessage{role, text})
		}
		for _, c := range m.calls {
			out.Input = append(out.Input, ResponsesCall{"function_call", c.ID, c.Name, string(inputOf(c))})
		}
	}
	return s.formatted(out), nil
}

// texts counts each item as a message: a call by its name and its arguments, a result by its text.
func (out *ResponsesOutput) texts(message func(core.Role), text func(string), media func(*message.Part)) {
	if out.Instructions != "" {
		message(core.RoleSystem)
		text(out.Instructions)
	}
	for _, item := range out.Input {
		switch it := item.(type) {
		case Whole:
			message(core.RoleUser)
			it.texts(text, media)
		case ResponsesMessage:
			message(it.Role)
			text(it.Content)
		case ResponsesCall:
			message(core.RoleAssistant)
			text(it.CallID)
			text(it.Name)
			text(it.Arguments)
		case ResponsesResult:
			message(core.RoleTool)
			text(it.CallID)
			text(it.Output)
		}
	}
}

func (out *ResponsesOutput) self() exact { return out }

func (out *ResponsesOutput) toolList() json.RawMessage { return out.Tools }

func (out *ResponsesOutput) started() bool { return false }

func (out *ResponsesOutput) contextEnd(s *sections) (text, separator, after string) {
	if m, ok := out.Input[0].(ResponsesMessage); ok {
		return s.chatEnd(m.Content, openAIContext)
	}
	return "", "", ""
}
