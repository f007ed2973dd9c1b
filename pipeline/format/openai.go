package format

import (
	"context"
	"strings"

	"github.com/anchor-host/anchor-host/pipeline/core"
)

// OpenAI formats for the chat completions API of OpenAI and for compatible APIs. Its output
// is an [*OpenAIOutput].
type OpenAI struct{}

// OpenAIOutput is the document that [OpenAI] makes.
type OpenAIOutput struct {
	Messages []core.Message `json:"messages"`
}

// FormatType returns "openai".
func (OpenAI) FormatType() string { return "openai" }

// Format returns an [*OpenAIOutput]: one system message, then a user message with the
// context, then the turns. It merges neighboring messages of equal role. System turns of a
// conversation keep their places, and tool turns follow the calls that they answer.
func (OpenAI) Format(_ context.Context, w *core.Window) (any, error) {
	s := divide(w)
	messages := s.chatMessages("Relevant context:\n\n", false)
	out := &OpenAIOutput{Messages: make([]core.Message, 0, len(messages)+1)}
	if len(s.system) > 0 {
		out.Messages = append(out.Messages, core.Message{Role: core.RoleSystem, Content: join("", s.system, blankLine)})
	}
	for i := range messages {
		m := &messages[i]
		message := core.Message{Role: m.role, Content: strings.Join(m.parts, blankLine)}
		if m.calls != nil {
			message.ToolCalls = openAICalls(m.calls)
		}
		if m.result != nil {
			message.Name, message.ToolCallID = m.result.Name, m.result.ToolCallID
		}
		out.Messages = append(out.Messages, message)
	}
	return out, nil
}
