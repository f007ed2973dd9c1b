package format

import (
	"github.com/anchor-host/anchor-host/pipeline/core"
)

// mergeRoles joins neighboring messages of equal role, because chat APIs refuse them. It
// never merges messages of the system or of tools, nor messages with calls. The cache mark
// of the first message stays; the marks of the others are lost.
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
