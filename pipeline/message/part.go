package message

import (
	"fmt"
	"slices"
	"strings"
)

// part writes a part: as it came, with changes, or as a new one. The result is empty if the part
// was left out.
func (w *writer) part(p *Part, role Role) (string, error) {
	if p.place == 0 || !w.fits(p) {
		return w.fresh(p, role)
	}
	e, old, err := reread(p)
	if err != nil {
		return "", w.fail("", err)
	}
	switch {
	case p.same(&old):
		return p.raw, nil
	case old.Kind == Thinking || old.Kind == Unknown:
		return "", w.fail("", fmt.Errorf("%s: a part of this kind cannot be changed: %w", old.Kind, ErrInvalid))
	case p.Kind != old.Kind:
		return w.fresh(p, role)
	}
	ok, err := e.change(w, p, &old)
	if err != nil {
		return "", err
	}
	if !ok {
		return w.fresh(p, role)
	}
	return splice(p.raw, e.patches), nil
}

// same reports whether a part is the one that its JSON says.
func (p *Part) same(old *Part) bool {
	was := *old
	was.raw = p.raw
	return p.equal(&was)
}

// fresh writes a part as a new one. Members of its JSON that no field holds are lost.
func (w *writer) fresh(p *Part, role Role) (string, error) {
	if p.Kind == Thinking || p.Kind == Unknown {
		return "", w.loseKind(p)
	}
	if err := w.loseMembers(p); err != nil {
		return "", err
	}
	nested, err := w.nested(p)
	if err != nil {
		return "", err
	}
	return w.render(p, role, nested)
}

// nested writes the contents of a result, or of a document that consists of parts.
func (w *writer) nested(p *Part) (string, error) {
	switch {
	case w.form == FormGemini:
		return "", w.textOnly(p)
	case p.Kind == ToolResult && len(p.Parts) == 0:
		return `""`, nil
	case p.Kind == ToolResult && len(p.Parts) == 1 && p.Parts[0].Kind == Text && (p.Parts[0].place == 0 || p.Parts[0].place == inString || p.Parts[0].place == inValue):
		return p.Parts[0].spelled(), nil
	case len(p.Parts) == 0:
		return "", nil
	case p.Kind == ToolResult && w.form == FormOpenAI:
		if err := w.textOnly(p); err != nil {
			return "", err
		}
		return w.newList("content", asTexts(p.Parts), RoleUser)
	}
	return w.newList("content", p.Parts, RoleUser)
}

// asTexts returns parts with a text in place of each one of another kind, which names it.
func asTexts(parts []Part) []Part {
	out := make([]Part, 0, len(parts))
	for i := range parts {
		if p := &parts[i]; p.Kind == Text {
			out = append(out, *p)
		} else if text := TextOf(parts[i : i+1]); text != "" {
			out = append(out, Part{Kind: Text, Text: text})
		}
	}
	return out
}

// textOnly loses the parts of a result that are not text, for forms whose results have only
// text.
func (w *writer) textOnly(p *Part) error {
	if p.Kind != ToolResult {
		return nil
	}
	for i := range p.Parts {
		w.path = append(w.path, step{"content", i})
		var err error
		if part := &p.Parts[i]; part.Kind != Text {
			err = w.loseKind(part)
		} else {
			err = w.loseMembers(part)
		}
		w.path = w.path[:len(w.path)-1]
		if err != nil {
			return err
		}
	}
	return nil
}

// newList writes a list of parts.
func (w *writer) newList(name string, parts []Part, role Role) (string, error) {
	out := []byte{'['}
	for i := range parts {
		text, err := w.element(name, i, &parts[i], nil, role)
		if err != nil {
			return "", err
		}
		if text != "" {
			out = append(separate(out), text...)
		}
	}
	return string(append(out, ']')), nil
}

// separate appends a comma unless the list is empty.
func separate(out []byte) []byte {
	if out[len(out)-1] != '[' {
		out = append(out, ',')
	}
	return out
}

// editor changes the JSON of one part or message.
type editor struct {
	tree    *tree
	patches []patch
	gone    []int32 // members of the root that are taken out
}

// all returns the patches for all changes.
func (e *editor) all() []patch {
	if len(e.gone) == 0 {
		return e.patches
	}
	return append(e.patches, e.tree.without(e.gone)...)
}

// reread reads the JSON of a part again.
func reread(p *Part) (*editor, Part, error) {
	if p.place == inString {
		return &editor{}, Part{Kind: p.Kind, Text: unquote(p.raw), raw: p.raw, place: p.place}, nil
	}
	t, err := parse(p.raw)
	if err != nil {
		return nil, Part{}, err
	}
	m := Message{origin: &origin{}}
	c := codec{tree: t, m: &m}
	var old Part
	switch p.place {
	case inGemini:
		old, err = c.geminiPart(0)
	case inCalls:
		old, err = c.chatCall(0)
	case inMessage, inItem:
		if err = c.message(0); err == nil {
			old = m.Parts[0]
		}
	default:
		old, err = c.chatPart(0)
	}
	old.raw = p.raw
	return &editor{tree: t}, old, err
}

// change finds the patches that make the JSON of an old part that of a new one. It returns false
// if the change has no place there.
func (e *editor) change(w *writer, p, old *Part) (bool, error) {
	t := e.tree
	inner := t.index(0, "function", "custom", "functionCall", "function_call", "functionResponse", "function_response")
	if inner == none || t.nodes[inner].kind() != '{' {
		inner = 0
	}
	if p.Media != nil && old.Media != nil && *p.Media != *old.Media || (p.Media == nil) != (old.Media == nil) {
		return false, nil
	}
	idOf := int32(0)
	if p.place == inGemini {
		idOf = inner
	}
	if !e.set(0, old.Text, p.Text, "text", "refusal") {
		name := "text"
		if p.Kind == Refusal {
			name = "refusal"
		}
		e.put(0, name, quote(p.Text))
	}
	switch {
	case e.set(idOf, old.ID, p.ID, "id", "call_id", "tool_use_id", "tool_call_id"):
	case idOf != 0: // Gemini's calls can be without an id
		e.put(idOf, "id", quote(p.ID))
	default:
		return false, nil
	}
	if named := p.Kind != ToolResult || t.index(inner, "name") != none; named && !e.set(inner, old.Name, p.Name, "name") {
		return false, nil
	}
	if err := e.setArguments(w, inner, p, old); err != nil {
		return false, err
	}
	if p.place == inGemini && p.Kind == ToolResult {
		return e.setResponse(w, inner, p, old)
	}
	if err := e.setFailed(w, p, old); err != nil {
		return false, err
	}
	return e.setParts(w, p, old)
}

// set replaces the text of the first member that an object has. It returns false if the text
// changed and the object has none of the members.
func (e *editor) set(object int32, old, text string, names ...string) bool {
	if old == text {
		return true
	}
	if names[0] == "id" && e.tree.index(object, "call_id", "tool_call_id", "tool_use_id") != none {
		names = names[1:] // an item of the Responses API has an id of its own
	}
	i := e.tree.index(object, names...)
	if i == none || e.tree.nodes[i].kind() != '"' {
		return false
	}
	e.patches = append(e.patches, e.tree.nodes[i].replace(quote(text)))
	return true
}

// setArguments replaces the arguments of a call. They are a text or an object, as before.
func (e *editor) setArguments(w *writer, inner int32, p, old *Part) error {
	if p.Arguments == old.Arguments {
		return nil
	}
	i := e.tree.index(inner, "arguments", "input", "args", "action", "operation")
	switch {
	case i != none && e.tree.nodes[i].kind() == '"':
		e.patches = append(e.patches, e.tree.nodes[i].replace(quote(p.Arguments)))
	case i != none && isObject(p.Arguments):
		e.patches = append(e.patches, e.tree.nodes[i].replace(p.Arguments))
	case i != none:
		return w.fail(e.tree.nodes[i].name, fmt.Errorf("%.40q: %w (want a JSON object)", p.Arguments, ErrInvalid))
	case p.place == inGemini && isObject(p.Arguments):
		e.patches = append(e.patches, e.tree.insert(inner, "args", p.Arguments))
	case p.place == inAnthropic && isObject(p.Arguments):
		e.patches = append(e.patches, e.tree.insert(inner, "input", p.Arguments))
	case p.place == inAnthropic || p.place == inGemini:
		return w.fail("input", fmt.Errorf("%.40q: %w (want a JSON object)", p.Arguments, ErrInvalid))
	default:
		e.patches = append(e.patches, e.tree.insert(inner, "arguments", quote(p.Arguments)))
	}
	return nil
}

// setFailed sets whether a result of Anthropic's form reports an error.
func (e *editor) setFailed(w *writer, p, old *Part) error {
	if p.Failed == old.Failed {
		return nil
	}
	if p.place != inAnthropic {
		return w.loseUnknown("is_error")
	}
	value := fmt.Sprint(p.Failed)
	if n := e.tree.member(0, "is_error"); n != nil {
		e.patches = append(e.patches, n.replace(value))
	} else {
		e.patches = append(e.patches, e.tree.insert(0, "is_error", value))
	}
	return nil
}

// setParts replaces the contents of a result or of a document.
func (e *editor) setParts(w *writer, p, old *Part) (bool, error) {
	if equalParts(p.Parts, old.Parts) {
		return true, nil
	}
	object, name := int32(0), "content"
	switch {
	case p.Kind == Document:
		if object = e.tree.index(0, "source"); object == none {
			return false, nil
		}
	case p.Kind != ToolResult:
		return false, nil
	case p.place == inItem:
		name = "output"
	}
	if p.Kind == ToolResult && w.form == FormOpenAI {
		if err := w.textOnly(&Part{Kind: ToolResult, Parts: fresh(p.Parts)}); err != nil {
			return false, err
		}
	}
	return true, e.setList(w, object, name, p.Parts, old.Parts, p.at, RoleUser)
}

// fresh returns the parts that were not read.
func fresh(parts []Part) []Part {
	return slices.DeleteFunc(slices.Clone(parts), func(p Part) bool { return p.place != 0 })
}

// setList replaces a list of parts that is a member of an object. old are the parts that were
// read from it. base is where the JSON begins in that to which the places of the parts refer.
func (e *editor) setList(w *writer, object int32, name string, parts, old []Part, base int, role Role) error {
	at := e.tree.index(object, name)
	if at == none {
		return e.addList(w, object, name, parts, role)
	}
	n := &e.tree.nodes[at]
	switch {
	case n.kind() == '[':
	case len(parts) == 0:
		e.patches = append(e.patches, n.replace(`""`))
		return nil
	case len(parts) == 1 && parts[0].Kind == Text && (parts[0].place == 0 || parts[0].place == inString):
		e.patches = append(e.patches, n.replace(parts[0].spelled()))
		return nil
	case n.kind() == '"':
		text, err := w.newList(name, parts, role)
		e.patches = append(e.patches, n.replace(text))
		return err
	default:
		return w.fail(name, fmt.Errorf("a result of this kind cannot be changed: %w", ErrInvalid))
	}
	text, err := e.list(w, at, parts, old, base, role)
	e.patches = append(e.patches, n.replace(text))
	return err
}

// addList writes a list of parts where the object has none, or null.
func (e *editor) addList(w *writer, object int32, name string, parts []Part, role Role) error {
	if len(parts) == 0 {
		return nil
	}
	text := ""
	if len(parts) == 1 && parts[0].Kind == Text && parts[0].place == 0 && name != "parts" && w.form != FormGemini {
		text = parts[0].spelled()
	} else {
		var err error
		if text, err = w.newList(name, parts, role); err != nil {
			return err
		}
	}
	e.put(object, name, text)
	return nil
}

// put sets a member that an object does not have, or that is null.
func (e *editor) put(object int32, name, value string) {
	for i := e.tree.nodes[object].kid; i != none; i = e.tree.nodes[i].next {
		if n := &e.tree.nodes[i]; n.name == name {
			e.patches = append(e.patches, n.replace(value))
			return
		}
	}
	e.patches = append(e.patches, e.tree.insert(object, name, value))
}

// list writes a JSON list again with other parts. old are the parts that were read from it. The
// white space around those that stay stays, too.
func (e *editor) list(w *writer, list int32, parts, old []Part, base int, role Role) (string, error) {
	n, kids := &e.tree.nodes[list], e.tree.kids(list)
	gap, tail := ",", n.raw[1:]
	var out strings.Builder
	out.Grow(len(n.raw) + 1024)
	out.WriteByte('[')
	if len(kids) > 0 {
		out.WriteString(n.raw[1 : kids[0].at-n.at])
		tail = n.raw[kids[len(kids)-1].end()-n.at:]
	}
	if len(kids) > 1 {
		gap = n.raw[kids[0].end()-n.at : kids[1].at-n.at]
	}
	written, k := false, 0
	for i := range parts {
		p := &parts[i]
		for k < len(kids) && kids[k].at+base < p.at {
			k++
		}
		space := gap
		var was *Part
		if k < len(kids) && kids[k].at+base == p.at {
			if k > 0 {
				space = n.raw[kids[k-1].end()-n.at : kids[k].at-n.at]
			}
			if k < len(old) {
				was = &old[k]
			}
			k++
		}
		text, err := w.element(n.name, i, p, was, role)
		if err != nil {
			return "", err
		}
		if text != "" && written {
			out.WriteString(space)
		}
		written = written || text != ""
		out.WriteString(text)
	}
	out.WriteString(tail)
	return out.String(), nil
}

// element writes a part of a list. was is what the part was when it was read, nil if that is not
// known.
func (w *writer) element(list string, i int, p, was *Part, role Role) (string, error) {
	if was != nil && p.equal(was) && w.fits(p) {
		return p.raw, nil
	}
	w.path = append(w.path, step{list, i})
	text, err := w.part(p, role)
	w.path = w.path[:len(w.path)-1]
	return text, err
}

// setResponse replaces the object that is the result of a tool in Gemini's form.
func (e *editor) setResponse(w *writer, inner int32, p, old *Part) (bool, error) {
	if p.Failed == old.Failed && equalParts(p.Parts, old.Parts) {
		return true, nil
	}
	if err := w.textOnly(p); err != nil {
		return false, err
	}
	i := e.tree.index(inner, "response")
	if i == none {
		e.put(inner, "response", w.response(p))
		return true, nil
	}
	n := &e.tree.nodes[i]
	if name, value, at := outcome(n.raw); name != "" && p.Failed == old.Failed {
		from := n.at + at
		e.patches = append(e.patches, patch{from, from + len(value), quote(TextOf(p.Parts))})
		return true, nil
	}
	e.patches = append(e.patches, n.replace(w.response(p)))
	return true, nil
}
