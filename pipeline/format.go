package pipeline

import (
	"context"
	"fmt"
)

// Formatter turns a filled window into the document a model API takes. It does not
// change the window and is safe for concurrent use.
type Formatter interface {
	// FormatType names the format, such as "anthropic".
	FormatType() string
	// Format returns a string or a value that encoding/json can marshal, as it is
	// or in a Formatted.
	Format(ctx context.Context, w *Window) (any, error)
}

// Formatted is what a formatter returns that learns the type of an output only by
// making it: a build takes Output as the output, and Type, unless it is empty, in
// place of what FormatType says.
type Formatted struct {
	Type   string
	Output any
}

// compareAge orders by time, then by sequence number.
func compareAge(a, b Item) int {
	if c := a.CreatedAt.Compare(b.CreatedAt); c != 0 {
		return c
	}
	switch {
	case a.Sequence < b.Sequence:
		return -1
	case a.Sequence > b.Sequence:
		return 1
	}
	return 0
}

// roleOf returns the role of a turn: what its metadata says, as far as its source
// may say it, and user otherwise. Only system items may speak as the system, only
// tool items as a tool.
func roleOf(it *Item) Role {
	role := RoleUser
	if v, ok := it.Metadata["role"]; ok {
		role = Role(fmt.Sprint(v))
	}
	switch {
	case role == RoleAssistant,
		role == RoleSystem && it.Source == SourceSystem,
		role == RoleTool && (it.Source == SourceSystem || it.Source == SourceTool):
		return role
	}
	return RoleUser
}

// The separators of the chat formats.
const (
	contextSeparator = "\n\n---\n\n"
	blankLine        = "\n\n"
)

// chatMessage is a message while it is put together: one or more texts.
type chatMessage struct {
	role  Role
	parts []string
	// calls are those of an assistant's message whose results follow, result is what
	// a tool's message says beside its text.
	calls  []toolCall
	result *provenance
	// cached is the number of parts, from the first, that a cache mark closes.
	cached int
}

// mergeRoles joins neighboring messages of equal role, which no chat API takes, into
// one. Messages of the system, of tools, and those with calls are never merged. A cache mark of the first message stays,
// those of the others are lost.
func mergeRoles(messages []chatMessage) []chatMessage {
	out := messages[:0]
	for _, m := range messages {
		if last := len(out) - 1; last >= 0 && m.role != RoleSystem && m.role != RoleTool && out[last].role == m.role && m.calls == nil && out[last].calls == nil {
			out[last].parts = append(out[last].parts, m.parts...)
			continue
		}
		out = append(out, m)
	}
	return out
}

// chatMessages returns the context message, if there is context, and the turns.
func (s *sections) chatMessages(prefix string, cacheContext bool) []chatMessage {
	messages := make([]chatMessage, 0, len(s.turns)+1)
	if s.context.n > 0 {
		m := chatMessage{role: RoleUser, parts: []string{s.context.join(prefix, contextSeparator)}}
		if cacheContext {
			m.cached = 1
		}
		messages = append(messages, m)
	}
	return mergeRoles(append(messages, turnMessages(s.turns)...))
}
