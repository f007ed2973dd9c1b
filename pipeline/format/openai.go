package format

import (
	"context"
	"encoding/json"

	"github.com/anchor-host/anchor-host/pipeline/core"
	"github.com/anchor-host/anchor-host/pipeline/message"
)

// OpenAI formats for the chat completions API of OpenAI and for compatible APIs. Its output
// is an [*OpenAIOutput].
type OpenAI struct {
	// Params are what the body states besides the window.
	Params Params
}

// OpenAIOutput is the document that [OpenAI] makes.
type OpenAIOutput struct {
	// Model, Tools and MaxCompletionTokens are left out of the document if they are empty.
	Model string `json:"model,omitempty"`
	// Messages are of the type OpenAIMessage, and Whole for what is more than this.
	Messages            []any           `json:"messages"`
	Tools               json.RawMessage `json:"tools,omitempty"`
	MaxCompletionTokens int             `json:"max_completion_tokens,omitempty"`
}

// Append implements [Body].
func (out *OpenAIOutput) Append(dst []byte, indent string) ([]byte, error) {
	return appendMembers(dst, indent, member{"model", out.Model, false}, member{"messages", out.Messages, true},
		member{"tools", out.Tools, false}, member{"max_completion_tokens", out.MaxCompletionTokens, false})
}

// OpenAIMessage is one message.
type OpenAIMessage struct {
	Role    core.Role `json:"role"`
	Content string    `json:"content"`
	// Name is the name of the tool, in a message of the role tool.
	Name string `json:"name,omitempty"`
	// ToolCalls is a JSON list of the calls of an assistant's message, nil if it has none.
	ToolCalls json.RawMessage `json:"tool_calls,omitempty"`
	// ToolCallID is the id of the call that a message of the role tool answers.
	ToolCallID string `json:"tool_call_id,omitempty"`
}

// openAIContext stands before the context.
const openAIContext = "Relevant context:\n\n"

// FormatType returns "openai".
func (OpenAI) FormatType() string { return "openai" }

// Format returns an [*OpenAIOutput]: one system message, then a user message with the
// context, then the turns and the query. It merges neighboring messages of equal role. System
// turns of a conversation keep their places, and tool turns follow the calls that they answer.
func (f OpenAI) Format(_ context.Context, w *core.Window) (any, error) {
	s := divide(w)
	messages := s.chatMessages(api{form: message.FormOpenAI, prefix: openAIContext, whole: s.whole})
	out := &OpenAIOutput{
		Model: f.Params.Model, Messages: make([]any, 0, len(messages)+1), Tools: w.Tools,
		MaxCompletionTokens: f.Params.MaxOutputTokens,
	}
	if len(s.system) > 0 {
		out.Messages = append(out.Messages, OpenAIMessage{Role: core.RoleSystem, Content: s.systemText()})
	}
	for i := range messages {
		m := &messages[i]
		if m.whole != nil {
			out.Messages = append(out.Messages, m.value())
			continue
		}
		message := OpenAIMessage{Role: m.role, Content: m.text()}
		if m.calls != nil {
			message.ToolCalls = openAICalls(m.calls)
		}
		if m.result != nil {
			message.Name, message.ToolCallID = m.result.Name, m.result.ID
		}
		out.Messages = append(out.Messages, message)
	}
	return s.formatted(out), nil
}

func (out *OpenAIOutput) self() exact { return out }

func (out *OpenAIOutput) toolList() json.RawMessage { return out.Tools }

func (out *OpenAIOutput) started() bool { return false }

func (out *OpenAIOutput) contextEnd(s *sections) (text, separator, after string) {
	if m, ok := out.Messages[min(len(s.system), 1)].(OpenAIMessage); ok {
		return s.chatEnd(m.Content, openAIContext)
	}
	return "", "", ""
}

func (out *OpenAIOutput) texts(message func(core.Role), text func(string), media func(*message.Part)) {
	for _, m := range out.Messages {
		switch m := m.(type) {
		case Whole:
			message(m.Role)
			m.texts(text, media)
		case OpenAIMessage:
			message(m.Role)
			for _, t := range [...]string{m.Content, m.Name, string(m.ToolCalls), m.ToolCallID} {
				text(t)
			}
		}
	}
}
