package format

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/anchor-host/anchor-host/pipeline/core"
	"github.com/anchor-host/anchor-host/pipeline/internal/values"
	"github.com/anchor-host/anchor-host/pipeline/message"
)

// Anthropic formats for the Messages API of Anthropic. Its output is an
// [*AnthropicOutput].
type Anthropic struct {
	// Caching marks the last system block and the context as cacheable. The block of the
	// context ends before the first turn, so that the prefix up to the mark is the same in each
	// build.
	Caching bool
	// Breakpoints is empty for the marks that Caching sets. With BreakpointsAuto there are
	// up to MaxBreakpoints marks (0 means [MaxCacheBreakpoints]), each on a block whose
	// prefix is long enough for Model to cache it ([CacheMinimum]); an empty Model is that of
	// Params. PrefixTokens is the number of tokens before the window in the prefix, besides
	// those of the window's tools.
	Breakpoints    string
	Model          string
	PrefixTokens   int
	MaxBreakpoints int
	// Cite writes the items of the context whose source is known ([SourceOf]) as search results
	// that the model can cite.
	Cite bool
	// Params are what the body states besides the window.
	Params Params
}

// writesMore tells [WritesWhole] that blocks have titles and sources besides the texts of items.
func (f Anthropic) writesMore() bool { return f.Cite }

// AnthropicOutput is the document that [Anthropic] makes.
type AnthropicOutput struct {
	// Model, MaxTokens and Tools are left out of the document if they are empty, System if it
	// is nil.
	Model     string             `json:"model,omitempty"`
	MaxTokens int                `json:"max_tokens,omitempty"`
	Tools     json.RawMessage    `json:"tools,omitempty"`
	System    []TextBlock        `json:"system,omitzero"`
	Messages  []AnthropicMessage `json:"messages"`
}

// Append implements [Body].
func (out *AnthropicOutput) Append(dst []byte, indent string) ([]byte, error) {
	return appendMembers(dst, indent, member{"model", out.Model, false}, member{"max_tokens", out.MaxTokens, false},
		member{"tools", out.Tools, false}, member{"system", out.System, false}, member{"messages", out.Messages, true})
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
// has a cache mark, or a []any with blocks of several types if it uses tools, has
// a [SearchResultBlock] or a [Whole].
type AnthropicMessage struct {
	Role    core.Role `json:"role"`
	Content any       `json:"content"`
}

// anthropicContext stands before the context.
const anthropicContext = "Here is relevant context:\n\n"

// FormatType returns "anthropic".
func (Anthropic) FormatType() string { return "anthropic" }

// Format returns an [*AnthropicOutput]: the system prompts as blocks, then a user message
// with the context, then the turns and the query. It merges neighboring messages of equal
// role. A tool turn becomes a tool_result block after the call that it answers. A system turn
// within a conversation becomes a user message, because the API has no such turns.
//
// With a query the output is a whole request, so blank texts are left out, and a conversation
// that the assistant begins has a message of the user before it: the API demands both.
func (f Anthropic) Format(_ context.Context, w *core.Window) (any, error) {
	if err := f.Validate(); err != nil {
		return nil, err
	}
	s := divide(w)
	out := &AnthropicOutput{Model: f.Params.Model, MaxTokens: f.Params.demanded(), Tools: w.Tools, System: make([]TextBlock, 0, len(s.system))}
	for _, it := range s.system {
		if !s.whole || strings.TrimSpace(it.Content) != "" {
			out.System = append(out.System, TextBlock{Type: "text", Text: it.Content})
		}
	}
	if s.whole && len(out.System) == 0 {
		out.System = nil
	}
	f.markSystem(out.System)
	messages := s.chatMessages(api{form: message.FormAnthropic, prefix: anthropicContext, cached: f.Caching, cited: f.Cite, pairs: true, whole: s.whole})
	out.Messages = make([]AnthropicMessage, 0, len(messages))
	for i := 0; i < len(messages); i++ {
		if messages[i].whole != nil {
			out.Messages = append(out.Messages, AnthropicMessage{Role: messages[i].role, Content: messages[i].blocks()})
			continue
		}
		if messages[i].calls == nil {
			out.Messages = append(out.Messages, f.message(&messages[i]))
			continue
		}
		use, results := toolMessages(messages[i:])
		i += len(messages[i].calls)
		if next := i + 1; next < len(messages) && messages[next].role == core.RoleUser && messages[next].whole == nil {
			results.Content = append(results.Content.([]any), TextBlock{Type: "text", Text: messages[next].text()})
			i = next
		}
		out.Messages = append(out.Messages, use, results)
	}
	out.Messages = joinRoles(out.Messages)
	f.PrefixTokens = values.Add(f.PrefixTokens, w.ToolTokens)
	f.placeBreakpoints(out, &s)
	return s.formatted(out), nil
}

// joinRoles joins neighboring messages of equal role. Only whole messages of turns have such
// neighbors.
func joinRoles(messages []AnthropicMessage) []AnthropicMessage {
	out := messages[:0]
	for _, m := range messages {
		if last := len(out) - 1; last >= 0 && out[last].Role == m.Role {
			out[last].Content = append(blocksOf(out[last].Content), blocksOf(m.Content)...)
			continue
		}
		out = append(out, m)
	}
	return out
}

// blocksOf returns the content of a message as blocks. The API refuses blank ones.
func blocksOf(content any) []any {
	var blocks []any
	switch content := content.(type) {
	case string:
		if strings.TrimSpace(content) != "" {
			blocks = []any{TextBlock{Type: "text", Text: content}}
		}
	case []TextBlock:
		for _, b := range content {
			blocks = append(blocks, b)
		}
	case []any:
		blocks = content
	}
	return blocks
}

// blocks returns the parts of the message for the body.
func (m *chatMessage) blocks() []any {
	blocks := make([]any, 0, len(m.whole.Parts))
	for i := range m.whole.Parts {
		p := &m.whole.Parts[i]
		raw := p.Raw()
		if strings.HasPrefix(raw, `"`) { // the only text of the message
			blocks = append(blocks, TextBlock{Type: "text", Text: p.Text})
			continue
		}
		blocks = append(blocks, Whole{JSON: unmarked(raw), Parts: m.whole.Parts[i : i+1]})
	}
	return blocks
}

// unmarked returns a block without a cache mark: the marks are those of the format, because an
// API takes only a few.
func unmarked(raw string) json.RawMessage {
	var members map[string]json.RawMessage
	if !strings.Contains(raw, `"cache_control"`) || json.Unmarshal([]byte(raw), &members) != nil || members["cache_control"] == nil {
		return json.RawMessage(raw)
	}
	delete(members, "cache_control")
	data, err := json.Marshal(members)
	if err != nil {
		return json.RawMessage(raw)
	}
	return data
}

// toolMessages returns the assistant's message with tool calls, and the user's message with
// the results of these calls, which follow it in messages.
func toolMessages(messages []chatMessage) (use, results AnthropicMessage) {
	m := &messages[0]
	var blocks, answers []any
	if text := m.text(); strings.TrimSpace(text) != "" {
		blocks = append(blocks, TextBlock{Type: "text", Text: text})
	}
	for i, c := range m.calls {
		blocks = append(blocks, ToolUseBlock{"tool_use", c.ID, c.Name, inputOf(c)})
		r := &messages[1+i]
		answers = append(answers, ToolResultBlock{"tool_result", r.result.ID, r.parts[0]})
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
	for strings.TrimSpace(blocks[last].Text) == "" {
		if last--; last < 0 {
			return
		}
	}
	blocks[last].CacheControl = ephemeral()
}

func (Anthropic) message(m *chatMessage) AnthropicMessage {
	if m.cited != nil {
		blocks := m.cited
		if text := m.text(); strings.TrimSpace(text) != "" {
			blocks = append(blocks, TextBlock{Type: "text", Text: text})
		}
		return AnthropicMessage{Role: m.role, Content: blocks}
	}
	if m.cached == 0 {
		return AnthropicMessage{Role: m.role, Content: m.text()}
	}
	blocks := []TextBlock{{Type: "text", Text: m.parts[0], CacheControl: ephemeral()}}
	if len(m.parts) > 1 {
		blocks = append(blocks, TextBlock{Type: "text", Text: strings.Join(m.parts[1:], blankLine)})
	}
	return AnthropicMessage{Role: m.role, Content: blocks}
}

func ephemeral() *CacheControl { return &CacheControl{Type: "ephemeral"} }

func (out *AnthropicOutput) self() exact { return out }

func (out *AnthropicOutput) toolList() json.RawMessage { return out.Tools }

func (out *AnthropicOutput) started() bool {
	if len(out.Messages) == 0 {
		return false
	}
	text, ok := out.Messages[0].Content.(string)
	return ok && text == start
}

func (out *AnthropicOutput) contextEnd(s *sections) (text, separator, after string) {
	switch content := out.Messages[0].Content.(type) {
	case string:
		return s.chatEnd(content, anthropicContext)
	case []TextBlock:
		return content[0].Text, contextSeparator, ""
	}
	return "", "", ""
}

// texts counts the system blocks as one message. A message with tool calls or results counts
// as one text: the JSON of its blocks.
func (out *AnthropicOutput) texts(message func(core.Role), text func(string), media func(*message.Part)) {
	if len(out.System) > 0 {
		message(core.RoleSystem)
	}
	for i := range out.System {
		text(out.System[i].Text)
	}
	for i := range out.Messages {
		m := &out.Messages[i]
		message(m.Role)
		switch content := m.Content.(type) {
		case string:
			text(content)
		case []TextBlock:
			for j := range content {
				text(content[j].Text)
			}
		case []any:
			blockTexts(content, text, media)
		default:
			if doc, err := json.Marshal(content); err == nil {
				text(string(doc))
			}
		}
	}
}
