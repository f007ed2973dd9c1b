package message

import "fmt"

// fresh writes a message as a new one.
func (w *listWriter) fresh(m *Message) error {
	if m.Instructs() && w.calls > 0 {
		w.held = append(w.held, max(w.index, 0))
		return nil
	}
	if err := w.loseRest(m); err != nil {
		return err
	}
	if len(m.Parts) == 0 {
		return w.loseEmpty()
	}
	if err := w.begin(m); err != nil {
		return err
	}
	for _, results := range [...]bool{true, false} { // results stand before all else
		for i := range m.Parts {
			if (m.Parts[i].Kind == ToolResult) != results {
				continue
			}
			if err := w.add(m, i); err != nil {
				return err
			}
		}
	}
	if w.open != nil && w.open.empty() {
		w.open = nil // all was left out, or is a message of its own
	}
	w.track(m)
	return nil
}

// loseEmpty loses a message without content, which is no loss but nothing that can be written.
func (w *writer) loseEmpty() error {
	err := w.fail("content", fmt.Errorf("empty: %w", ErrInvalid))
	if !w.lossy {
		return err
	}
	w.left = append(w.left, err)
	return nil
}

// loseRest loses what a message has besides its role and its parts.
func (w *listWriter) loseRest(m *Message) error {
	if m.Name != "" && w.form != FormOpenAI {
		if err := w.loseUnknown("name"); err != nil {
			return err
		}
	}
	for _, other := range m.Others() {
		t, err := parse("{" + other + "}")
		if err != nil {
			return err
		}
		if err := w.loseMember(&t.nodes[t.nodes[0].kid], "", nil); err != nil {
			return err
		}
	}
	return nil
}

// begin opens a message for the parts of m, or continues the one that is open. Calls that follow
// a message of the model belong to it, and all results of one message with calls belong together.
// The forms in which they are messages of their own lose nothing by it.
func (w *listWriter) begin(m *Message) error {
	open := w.open
	switch {
	case open == nil || w.form == FormResponses:
	case m.Role == RoleAssistant && open.role == RoleAssistant && only(m.Parts, ToolCall) && m.Name == "":
		return nil
	case m.Role != RoleAssistant && open.results && only(m.Parts, ToolResult) && w.form != FormOpenAI:
		return nil
	}
	if err := w.flush(); err != nil {
		return err
	}
	w.open = w.pending(m)
	return nil
}

// pending returns a new message that is open.
func (w *listWriter) pending(m *Message) *pending {
	p := &pending{role: m.Role, results: only(m.Parts, ToolResult)}
	if w.form == FormOpenAI {
		p.name = m.Name
	}
	if m.Role == RoleTool {
		p.role = RoleUser
	}
	return p
}

// only reports whether all parts are of one kind.
func only(parts []Part, kind Kind) bool {
	for i := range parts {
		if parts[i].Kind != kind {
			return false
		}
	}
	return len(parts) > 0
}

func (p *pending) empty() bool {
	return len(p.content) == 0 && len(p.calls) == 0 && p.refusal == ""
}

// add writes a part of a message.
func (w *listWriter) add(m *Message, i int) error {
	p := &m.Parts[i]
	switch {
	case p.Kind == ToolCall && m.Role != RoleAssistant:
		return w.fail("role", fmt.Errorf("%s: %w (a message with calls is one of the assistant)", m.Role, ErrInvalid))
	case p.Kind == ToolResult && m.Role != RoleUser && m.Role != RoleTool:
		return w.fail("role", fmt.Errorf("%s: %w (a message with results is one of the user or of the tool)", m.Role, ErrInvalid))
	case p.Kind == Text && p.Text == "" && len(m.Parts) > 1 && p.place != inGemini:
		return nil // such as the empty content of a message with calls
	}
	list, role := listOf(p), m.Role
	if list != "" {
		w.path = append(w.path[:0], step{list, i - before(m.Parts[:i], list)})
	}
	text, err := w.part(p, role)
	w.path = w.path[:0]
	if err != nil || text == "" {
		return err
	}
	return w.addText(p, text)
}

// addText adds the JSON of a part to the message that is open, or writes it if it is a message of
// its own.
func (w *listWriter) addText(p *Part, text string) error {
	switch {
	case w.form == FormOpenAI && p.Kind == ToolResult,
		w.form == FormResponses && (p.Kind == ToolCall || p.Kind == ToolResult || p.place == inItem):
		return w.alone(text)
	case w.form == FormOpenAI && p.Kind == ToolCall:
		w.open.calls = append(w.open.calls, text)
		return nil
	case w.form == FormOpenAI && p.Kind == Refusal && w.open.refusal == "" && p.place != inRefusal:
		w.open.refusal = p.spelled()
		return nil
	}
	w.open.content = append(w.open.content, text)
	w.open.text = ""
	asText := w.form != FormResponses || w.open.role == RoleAssistant // see document
	if p.Kind == Text && len(w.open.content) == 1 && asText && (p.place == 0 || !w.fits(p)) {
		w.open.text = p.spelled()
	}
	return nil
}

// alone writes a message between the parts of the one that is open.
func (w *listWriter) alone(text string) error {
	open := w.open
	if open.empty() {
		w.open = nil
	}
	calls := w.calls
	w.calls = 1 // nothing of the system stands between the parts of a message
	err := w.flush()
	w.calls = calls
	if err == nil {
		err = w.put(text, w.gap, nil)
	}
	w.open = &pending{role: open.role, name: open.name}
	return err
}

// listOf returns the member in which a part stood, empty if it is a whole message.
func listOf(p *Part) string {
	switch p.place {
	case inCalls:
		return "tool_calls"
	case inGemini:
		return "parts"
	case inItem, inMessage:
		return ""
	}
	return "content"
}

// before counts the parts that stand in another member.
func before(parts []Part, list string) (n int) {
	for i := range parts {
		if listOf(&parts[i]) != list {
			n++
		}
	}
	return n
}
