package conversation

import (
	"context"
	"fmt"
	"slices"

	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/pipeline/core"
	"github.com/anchor-host/anchor-host/pipeline/message"
)

// offered returns the turns that readers see, with their indices in the conversation: those that
// [SlidingWindowConfig.BeginWithUser] permits, without calls and results that lack the other. It
// tells ctx what is missing.
func (s *SlidingWindow) offered(ctx context.Context) (turns []pipeline.Turn, indices []int) {
	begun := false
	for i := range s.turns {
		if s.offers(i, &begun) {
			turns, indices = append(turns, s.turns[i]), append(indices, i)
		}
	}
	if !usesTools(turns) {
		return turns, indices
	}
	messages := messagesOf(turns)
	p := pairing{form: message.FormOf(messages), messages: messages, drop: make([]map[int]string, len(turns)), open: make(map[string][]place), done: make(map[string]bool)}
	p.find()
	kept := 0
	for i := range turns {
		t, ok := p.without(i, turns[i])
		if t.Whole != nil || !ok {
			p.tell(ctx, i, turns[i].Sequence)
		}
		if ok {
			turns[kept], indices[kept] = t, indices[i]
			kept++
		}
	}
	return turns[:kept], indices[:kept]
}

// usesTools reports whether one of the turns may have calls or results.
func usesTools(turns []pipeline.Turn) bool {
	return slices.ContainsFunc(turns, func(t pipeline.Turn) bool {
		return t.Role == pipeline.RoleTool || t.Whole != nil || t.Metadata["tool_calls"] != nil
	})
}

// messagesOf returns turns as messages. A turn whose calls nobody can read has no parts.
func messagesOf(turns []pipeline.Turn) []pipeline.Message {
	messages := make([]pipeline.Message, len(turns))
	for i := range turns {
		if t := &turns[i]; t.Whole != nil {
			messages[i] = *t.Whole
		} else if m, err := t.Message(); err == nil {
			messages[i] = m
		} else {
			messages[i] = pipeline.Message{Role: t.Role}
		}
	}
	return messages
}

// place is a part of a message.
type place struct{ message, part int }

// pairing finds calls without results and results without calls, by the rules of
// [message.Check].
type pairing struct {
	form     message.Form
	messages []pipeline.Message
	drop     []map[int]string   // for each message, the parts that readers do not see, and why
	open     map[string][]place // the calls that have no result yet
	done     map[string]bool    // the calls that have one
	user     bool               // the turn before is one of the user or of a tool
}

func (p *pairing) find() {
	for i := range p.messages {
		m := &p.messages[i]
		answers := p.results(i, m)
		if len(m.Parts) > 0 && len(p.drop[i]) == len(m.Parts) {
			continue // nobody sees the message
		}
		if !answers && p.form != message.FormResponses && (m.Role != pipeline.RoleAssistant || p.form == message.FormOpenAI || p.user) {
			p.close()
		}
		for j := range m.Parts {
			if c := &m.Parts[j]; c.Kind == message.ToolCall {
				p.call(place{i, j}, m, c)
			}
		}
		if !m.Instructs() {
			p.user = m.Role != pipeline.RoleAssistant
		}
	}
	p.close()
}

// results finds the calls of the results in a message, and reports whether one has a call.
func (p *pairing) results(i int, m *pipeline.Message) (answers bool) {
	for j := range m.Parts {
		r := &m.Parts[j]
		if r.Kind != message.ToolResult {
			continue
		}
		key := callKey(r)
		calls := p.open[key]
		if len(calls) == 0 || m.Role != pipeline.RoleUser && m.Role != pipeline.RoleTool {
			p.hide(place{i, j}, "result without its call")
			continue
		}
		answers = true
		if p.open[key] = calls[1:]; len(calls) == 1 {
			delete(p.open, key)
			p.done[key] = true
		}
	}
	return answers
}

// call notes a call. Two with one id cannot be told apart, so the second is not shown.
func (p *pairing) call(at place, m *pipeline.Message, c *message.Part) {
	key := callKey(c)
	switch {
	case m.Role != pipeline.RoleAssistant:
		p.hide(at, fmt.Sprintf("call of %.100s by the %s", c.Name, m.Role))
		return
	case c.ID != "" && (len(p.open[key]) > 0 || p.done[key] && p.form == message.FormAnthropic):
		p.hide(at, fmt.Sprintf("call of %.100s with the id %.100q of an earlier one", c.Name, c.ID))
		return
	}
	delete(p.done, key)
	p.open[key] = append(p.open[key], at)
}

// close hides the calls that have no result.
func (p *pairing) close() {
	for _, calls := range p.open {
		for _, at := range calls {
			p.hide(at, fmt.Sprintf("call of %.100s without its result", p.messages[at.message].Parts[at.part].Name))
		}
	}
	clear(p.open)
}

func (p *pairing) hide(at place, why string) {
	if p.drop[at.message] == nil {
		p.drop[at.message] = make(map[int]string)
	}
	p.drop[at.message][at.part] = why
}

// without returns turn i without the parts that nobody sees. It returns false if nothing
// remains that a model takes: reasoning without what it led to is refused.
func (p *pairing) without(i int, t pipeline.Turn) (pipeline.Turn, bool) {
	if len(p.drop[i]) == 0 {
		return t, !p.ledToNothing(i)
	}
	m := p.messages[i].Clone()
	if r := m.Results(); len(m.Parts) == 1 && len(r) == 1 && r[0].ID == "" && r[0].Name == "" {
		// It names no call, so it is a text, which formatters write as one of the user.
		t.Role, t.Whole = pipeline.RoleUser, nil
		return t, true
	}
	rest := make([]message.Part, 0, len(m.Parts))
	for j := range m.Parts {
		if p.drop[i][j] == "" {
			rest = append(rest, m.Parts[j])
		}
	}
	m.Parts = rest
	if !slices.ContainsFunc(rest, said) {
		return t, false
	}
	metadata := make(map[string]any, len(t.Metadata))
	for key, value := range t.Metadata {
		if key != "tool_calls" {
			metadata[key] = value
		}
	}
	t.Metadata, t.Whole, t.Content = metadata, &m, m.Text()
	return t, true
}

// ledToNothing reports whether message i is reasoning before a message that nobody sees.
func (p *pairing) ledToNothing(i int) bool {
	for n := i; n < len(p.messages); n++ {
		m := &p.messages[n]
		switch {
		case m.Role != pipeline.RoleAssistant || len(m.Parts) == 0:
			return false
		case len(p.drop[n]) == len(m.Parts):
			return n > i
		case slices.ContainsFunc(m.Parts, func(q message.Part) bool { return q.Kind != message.Thinking }):
			return false
		}
	}
	return false
}

// tell names the parts of message i that nobody sees.
func (p *pairing) tell(ctx context.Context, i int, sequence int64) {
	for j := range p.messages[i].Parts {
		if why := p.drop[i][j]; why != "" {
			core.Lost(ctx, fmt.Sprintf("turn-%d: content[%d]: %s", sequence, j, why))
		}
	}
}

// said reports whether a part is more than reasoning and an empty text.
func said(p message.Part) bool {
	return p.Kind != message.Thinking && (p.Kind != message.Text || p.Text != "")
}

// callKey is what a result names its call by: the id, or the tool.
func callKey(p *message.Part) string {
	if p.ID == "" {
		return "name " + p.Name
	}
	return "id " + p.ID
}
