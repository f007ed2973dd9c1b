package format

import (
	"bytes"
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
	Model               string
	Messages            []OpenAIMessage
	Tools               json.RawMessage
	MaxCompletionTokens int
}

// Append implements [Body].
func (out *OpenAIOutput) Append(dst []byte, indent string) ([]byte, error) {
	return appendMembers(dst, indent, member{"model", out.Model, false}, member{"messages", out.Messages, true},
		member{"tools", out.Tools, false}, member{"max_completion_tokens", out.MaxCompletionTokens, false})
}

// MarshalJSON writes the body on one line.
func (out *OpenAIOutput) MarshalJSON() ([]byte, error) { return out.Append(nil, "") }

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
	// Whole is the message itself, in place of all that Role does not say. It is nil for a
	// message of text and calls.
	Whole *Whole `json:"-"`
}

// MarshalJSON writes Whole, if there is one.
func (m OpenAIMessage) MarshalJSON() ([]byte, error) {
	if m.Whole != nil {
		return m.Whole.JSON, nil
	}
	type plain OpenAIMessage
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false) // the encoder around this one escapes if it has to
	err := enc.Encode(plain(m))
	return b.Bytes(), err
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
		Model: f.Params.Model, Messages: make([]OpenAIMessage, 0, len(messages)+1), Tools: w.Tools,
		MaxCompletionTokens: f.Params.MaxOutputTokens,
	}
	if len(s.system) > 0 {
		out.Messages = append(out.Messages, OpenAIMessage{Role: core.RoleSystem, Content: s.systemText()})
	}
	for i := range messages {
		m := &messages[i]
		if m.whole != nil {
			value := m.value()
			out.Messages = append(out.Messages, OpenAIMessage{Role: m.role, Whole: &value})
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
