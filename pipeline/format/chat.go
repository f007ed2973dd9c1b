package format

import (
	"fmt"

	"github.com/anchor-host/anchor-host/pipeline/core"
)

// roleOf returns the role of a turn: what its metadata says, as far as its source
// may say it, and user otherwise. Only system items may speak as the system, only
// tool items as a tool.
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

// The separators of the chat formats.
const (
	contextSeparator = "\n\n---\n\n"
	blankLine        = "\n\n"
)

// chatMessage is a message while it is put together: one or more texts.
type chatMessage struct {
	role  core.Role
	parts []string
	// calls are those of an assistant's message whose results follow, result is what
	// a tool's message says beside its text.
	calls  []toolCall
	result *core.Message
	// cached is the number of parts, from the first, that a cache mark closes.
	cached int
}

// mergeRoles joins neighboring messages of equal role, which no chat API takes, into
// one. Messages of the system, of tools, and those with calls are never merged. A cache
// mark of the first message stays, those of the others are lost.
func mergeRoles(messages []chatMessage) []chatMessage {
	out := messages[:0]
	for _, m := range messages {
		if last := len(out) - 1; last >= 0 && m.role != core.RoleSystem && m.role != core.RoleTool && out[last].role == m.role && m.calls == nil && out[last].calls == nil {
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
		m := chatMessage{role: core.RoleUser, parts: []string{s.context.join(prefix, contextSeparator)}}
		if cacheContext {
			m.cached = 1
		}
		messages = append(messages, m)
	}
	return mergeRoles(append(messages, turnMessages(s.turns)...))
}
