package message

// edit writes a message that was read in the form of the writer and has changed. It returns false
// if the message cannot be one JSON value any more, such as one that got a second result.
func (w *writer) edit(m *Message) (string, bool, error) {
	o := m.origin
	if len(o.parts) == 1 && (o.parts[0].place == inItem || o.parts[0].place == inMessage) {
		return w.editItem(m)
	}
	content, refusal, calls, ok := w.groups(m.Parts, m.Role)
	if !ok || (m.Role == RoleTool) != (o.role == RoleTool) {
		return "", false, nil
	}
	t, err := parse(o.raw)
	if err != nil {
		return "", false, err
	}
	e := &editor{tree: t}
	if m.Role != o.role {
		e.put(0, "role", quote(w.roleName(m.Role)))
	}
	if m.Name != o.name && !e.setName(w, m.Name) {
		return "", false, nil
	}
	oldContent, oldRefusal, oldCalls, _ := w.groups(o.parts, o.role)
	list := "content"
	if w.form == FormGemini {
		list = "parts"
	}
	if !equalParts(content, oldContent) {
		if err := e.setContent(w, list, content, oldContent, len(calls) > 0, m.Role); err != nil {
			return "", false, err
		}
	}
	if !equalParts(refusal, oldRefusal) {
		e.setRefusal(refusal)
	}
	if !equalParts(calls, oldCalls) {
		if err := e.setCalls(w, calls, oldCalls); err != nil {
			return "", false, err
		}
	}
	return splice(o.raw, e.all()), true, nil
}

// editItem writes a message that is one part.
func (w *writer) editItem(m *Message) (string, bool, error) {
	o := m.origin
	if len(m.Parts) != 1 || m.Parts[0].raw != o.raw || m.Role != o.role || m.Name != o.name {
		return "", false, nil
	}
	text, err := w.part(&m.Parts[0], m.Role)
	return text, text != "", err
}

// groups divides the parts of a message by the members in which they stand. ok is false if a part
// needs a message of its own.
func (w *writer) groups(parts []Part, role Role) (content, refusal, calls []Part, ok bool) {
	if w.form == FormAnthropic || w.form == FormGemini {
		return parts, nil, nil, true
	}
	for i := range parts {
		p := &parts[i]
		switch {
		case p.Kind == ToolResult || p.place == inItem && w.form == FormResponses:
			return nil, nil, nil, false
		case p.Kind == ToolCall && w.form == FormResponses:
			return nil, nil, nil, false
		case p.Kind == ToolCall:
			calls = append(calls, *p)
		case p.Kind == Refusal && w.form == FormOpenAI && role == RoleAssistant && p.place != inRefusal && len(refusal) == 0:
			refusal = append(refusal, *p)
		default:
			content = append(content, *p)
		}
	}
	return content, refusal, calls, true
}

// setName sets the name of the speaker. Only messages of OpenAI's chat have one.
func (e *editor) setName(w *writer, name string) bool {
	at := e.tree.index(0, "name")
	switch {
	case name == "" && at != none:
		e.gone = append(e.gone, at)
	case w.form != FormOpenAI:
		return false
	case at != none:
		e.patches = append(e.patches, e.tree.nodes[at].replace(quote(name)))
	default:
		e.put(0, "name", quote(name))
	}
	return true
}

// setContent replaces the contents of a message. A message with calls and nothing else has the
// content null.
func (e *editor) setContent(w *writer, list string, parts, old []Part, calls bool, role Role) error {
	if at := e.tree.index(0, list); at != none && len(parts) == 0 && calls && w.form == FormOpenAI {
		e.patches = append(e.patches, e.tree.nodes[at].replace("null"))
		return nil
	}
	return e.setList(w, 0, list, parts, old, 0, role)
}

// setRefusal sets the member refusal.
func (e *editor) setRefusal(refusal []Part) {
	value := "null"
	if len(refusal) > 0 {
		value = refusal[0].spelled()
	}
	if at := e.tree.index(0, "refusal"); at != none {
		e.patches = append(e.patches, e.tree.nodes[at].replace(value))
	} else {
		e.put(0, "refusal", value)
	}
}

// setCalls sets the member tool_calls, which is left out if there are none.
func (e *editor) setCalls(w *writer, calls, old []Part) error {
	at := e.tree.index(0, "tool_calls")
	if at != none && len(calls) == 0 {
		e.gone = append(e.gone, at)
		return nil
	}
	var text string
	var err error
	if at == none {
		if text, err = w.newList("tool_calls", calls, RoleAssistant); err == nil {
			e.put(0, "tool_calls", text)
		}
		return err
	}
	if text, err = e.list(w, at, calls, old, 0, RoleAssistant); err == nil {
		e.patches = append(e.patches, e.tree.nodes[at].replace(text))
	}
	return err
}
