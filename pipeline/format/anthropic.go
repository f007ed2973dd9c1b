package format

import (
	"context"
	"fmt"
	"strings"

	"github.com/anchor-host/anchor-host/pipeline/core"
)

// The places of cache marks in the Anthropic format.
const (
	// CacheControlBlock puts marks on content blocks, as the API defines them. The
	// block of the context ends before the first turn, so that the prefix up to the
	// mark is the same in each build.
	CacheControlBlock = "block"
	// CacheControlSeed puts the mark of the context on the message itself, next to role
	// and content. The API does not define such marks.
	CacheControlSeed = "seed"
)

// Anthropic formats for the Messages API of Anthropic. Its output is an
// [*AnthropicOutput].
type Anthropic struct {
	// Caching marks the last system block and the context as cacheable.
	Caching bool
	// CacheControl is CacheControlBlock when empty.
	CacheControl string
	// Breakpoints is empty for the marks that Caching sets. With BreakpointsAuto there are
	// up to MaxBreakpoints marks (0 means [MaxCacheBreakpoints]), each on a block whose
	// prefix is long enough for Model to cache it ([CacheMinimum]). PrefixTokens is the
	// number of tokens of the tools, which come before the window in the prefix.
	Breakpoints    string
	Model          string
	PrefixTokens   int
	MaxBreakpoints int
}

// AnthropicOutput is the document that [Anthropic] makes.
type AnthropicOutput struct {
	System   []TextBlock        `json:"system"`
	Messages []AnthropicMessage `json:"messages"`
}

// TextBlock is a content block of type "text".
type TextBlock struct {
	Type         string        `json:"type"`
	Text         string        `json:"text"`
	CacheControl *CacheControl `json:"cache_control,omitempty"`
}

// CacheControl is a cache mark. Its type is "ephemeral".
type CacheControl struct {
	Type string `json:"type"`
}

// AnthropicMessage is one message. Content is a string, a []TextBlock if one of its blocks
// has a cache mark, or a []any with blocks of several types if it uses tools.
type AnthropicMessage struct {
	Role    core.Role `json:"role"`
	Content any       `json:"content"`
	// CacheControl is only set with CacheControlSeed.
	CacheControl *CacheControl `json:"cache_control,omitempty"`
}

// FormatType returns "anthropic".
func (Anthropic) FormatType() string { return "anthropic" }

// Validate checks CacheControl, Breakpoints and the settings of Breakpoints.
func (f Anthropic) Validate() error {
	switch f.CacheControl {
	case "", CacheControlBlock, CacheControlSeed:
		return f.validateBreakpoints()
	}
	return fmt.Errorf("anthropic: cache_control %q: %w (want %s or %s)", f.CacheControl, core.ErrInvalid, CacheControlBlock, CacheControlSeed)
}

// Format returns an [*AnthropicOutput]: the system prompts as blocks, then a user message
// with the context, then the turns. It merges neighboring messages of equal role. A tool
// turn becomes a tool_result block after the call that it answers. A system turn within a
// conversation becomes a user message, because the API has no such turns.
func (f Anthropic) Format(_ context.Context, w *core.Window) (any, error) {
	if err := f.Validate(); err != nil {
		return nil, err
	}
	s := divide(w)
	out := &AnthropicOutput{System: make([]TextBlock, len(s.system))}
	for i, it := range s.system {
		out.System[i] = TextBlock{Type: "text", Text: it.Content}
	}
	f.markSystem(out.System)
	messages := s.chatMessages("Here is relevant context:\n\n", f.Caching)
	for i := range messages {
		if messages[i].role == core.RoleSystem {
			messages[i].role = core.RoleUser
		}
	}
	messages = mergeRoles(messages)
	out.Messages = make([]AnthropicMessage, 0, len(messages))
	for i := 0; i < len(messages); i++ {
		if messages[i].calls == nil {
			out.Messages = append(out.Messages, f.message(&messages[i]))
			continue
		}
		use, results := toolMessages(messages[i:])
		i += len(messages[i].calls)
		if next := i + 1; next < len(messages) && messages[next].role == core.RoleUser {
			results.Content = append(results.Content.([]any), TextBlock{Type: "text", Text: strings.Join(messages[next].parts, blankLine)})
			i = next
		}
		out.Messages = append(out.Messages, use, results)
	}
	f.placeBreakpoints(out, &s)
	return out, nil
}

// toolMessages returns the assistant's message with tool calls, and the user's message with
// the results of these calls, which follow it in messages.
func toolMessages(messages []chatMessage) (use, results AnthropicMessage) {
	m := &messages[0]
	var blocks, answers []any
	if text := strings.Join(m.parts, blankLine); strings.TrimSpace(text) != "" {
		blocks = append(blocks, TextBlock{Type: "text", Text: text})
	}
	for i := range m.calls {
		c := &m.calls[i]
		blocks = append(blocks, ToolUseBlock{"tool_use", c.ID, c.name(), c.input()})
		r := &messages[1+i]
		answers = append(answers, ToolResultBlock{"tool_result", r.result.ToolCallID, r.parts[0]})
	}
	return AnthropicMessage{Role: core.RoleAssistant, Content: blocks}, AnthropicMessage{Role: core.RoleUser, Content: answers}
}

// markSystem marks the last block that is not blank, because the API refuses a mark on blank
// text. It marks nothing if all blocks are blank.
func (f Anthropic) markSystem(blocks []TextBlock) {
	if !f.Caching || len(blocks) == 0 {
		return
	}
	last := len(blocks) - 1
	for f.CacheControl != CacheControlSeed && strings.TrimSpace(blocks[last].Text) == "" {
		if last--; last < 0 {
			return
		}
	}
	blocks[last].CacheControl = ephemeral()
}

func (f Anthropic) message(m *chatMessage) AnthropicMessage {
	out := AnthropicMessage{Role: m.role}
	if m.cached == 0 || f.CacheControl == CacheControlSeed {
		out.Content = strings.Join(m.parts, blankLine)
		if m.cached > 0 {
			out.CacheControl = ephemeral()
		}
		return out
	}
	blocks := []TextBlock{{Type: "text", Text: m.parts[0], CacheControl: ephemeral()}}
	if len(m.parts) > 1 {
		blocks = append(blocks, TextBlock{Type: "text", Text: strings.Join(m.parts[1:], blankLine)})
	}
	out.Content = blocks
	return out
}

func ephemeral() *CacheControl { return &CacheControl{Type: "ephemeral"} }
