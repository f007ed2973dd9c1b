package format

import (
	"fmt"
	"slices"
	"strings"

	"github.com/anchor-host/anchor-host/pipeline/core"
	"github.com/anchor-host/anchor-host/pipeline/message"
)

// start is the message of the user that stands before a conversation that the assistant begins,
// because some APIs refuse a list that does not begin with the user.
const start = "(The conversation begins.)"

// mergeRoles joins neighboring messages of equal role, because chat APIs refuse them. It never
// merges messages of the system or of tools. A message with calls takes the texts of the
// assistant before it. The cache mark of the first message stays; the marks of the others are
// lost.
func mergeRoles(messages []chatMessage) []chatMessage {
	out := messages[:0]
	for _, m := range messages {
		if last := len(out) - 1; last >= 0 && m.role != core.RoleSystem && m.role != core.RoleTool && out[last].role == m.role && out[last].calls == nil && out[last].whole == nil && m.whole == nil {
			out[last].parts, out[last].calls = append(out[last].parts, m.parts...), m.calls
			continue
		}
		out = append(out, m)
	}
	return out
}

// api says which lists of messages an API accepts.
type api struct {
	form   message.Form
	prefix string // stands before the context
	// cached marks the context. cited makes blocks of it that the model can cite.
	cached, cited bool
	// pairs means that the list begins with the user, and that there are only two roles besides
	// that of tools.
	pairs bool
	// whole means that the list is sent as it is, without further messages of the caller.
	whole bool
}

// chatMessages returns the context message, if there is context, the turns, and the query.
func (s *sections) chatMessages(a api) []chatMessage {
	messages := make([]chatMessage, 0, len(s.turns)+2)
	if s.context.n > 0 {
		m := chatMessage{role: core.RoleUser}
		if a.cited {
			m.cited = s.context.citedBlocks(a.cached)
		} else if m.parts = []string{s.context.join(a.prefix, contextSeparator)}; a.cached {
			m.cached = 1
		}
		if m.parts != nil || m.cited != nil {
			messages = append(messages, m)
		}
		messages = append(messages, s.attached(a.form)...)
	}
	for _, it := range s.system {
		s.lost = append(s.lost, lostParts(it)...)
	}
	turns, lost := turnMessages(s.turns, a.form)
	messages, s.lost = append(messages, turns...), append(s.lost, lost...)
	if s.query != "" {
		messages = append(messages, chatMessage{role: core.RoleUser, parts: []string{s.query}})
	}
	if a.whole {
		messages = slices.DeleteFunc(messages, func(m chatMessage) bool {
			return m.calls == nil && m.result == nil && m.whole == nil && m.cited == nil && strings.TrimSpace(m.parts[0]) == ""
		})
	}
	for i := range messages {
		if a.pairs && messages[i].role == core.RoleSystem {
			messages[i].role = core.RoleUser
		}
	}
	messages = mergeRoles(messages)
	if a.pairs && a.whole && len(messages) > 0 && messages[0].role != core.RoleUser {
		messages = slices.Insert(messages, 0, chatMessage{role: core.RoleUser, parts: []string{start}})
	}
	return messages
}

// attachedText is how much of an item's text names it before its parts.
const attachedText = 60

// attached returns a message for each item of the context with images, documents or sounds. The
// text of the item is in the context, so that its prefix stays the same; the message begins with
// the beginning of that text.
func (s *sections) attached(form message.Form) (messages []chatMessage) {
	w := wholeTurns{form: form}
	for i := range s.context.from[:s.context.span] {
		it := &s.context.from[i]
		parts := it.Parts()
		if parts == nil || !it.Source.IsContext() {
			continue
		}
		m := message.New(core.RoleUser, "Part of the context:")
		if text := strings.TrimSpace(it.Content); text != "" {
			m = message.New(core.RoleUser, fmt.Sprintf("Part of the context that begins with %.*q:", attachedText, text))
		}
		m.Parts = append(m.Parts, parts...)
		for _, written := range w.attach(it, m) {
			if core.Media(written.whole.Parts) > 0 { // not if the form has no place for it
				messages = append(messages, written)
			}
		}
	}
	s.lost = append(s.lost, w.lost...)
	return messages
}

// text returns the texts of a message, joined.
func (m *chatMessage) text() string { return strings.Join(m.parts, blankLine) }

// systemText returns the system prompts, joined.
func (s *sections) systemText() string { return join("", s.system, blankLine) }
