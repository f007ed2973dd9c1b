package message

import (
	"fmt"
	"slices"
	"sort"
	"strings"
)

// Append writes the document with these messages in place of its own. Everything else is written
// as it came. If no message changed, the result is the document, byte for byte. An error names
// the index in messages and the member.
//
// Instructions go back to their own member. New messages of the system that stand before all
// others join them in the forms of Anthropic and Gemini. Later ones become messages of the user
// there, after the results of the calls before them and before messages of the system for which
// [Message.Follows] is true. If the assistant would speak first, which both APIs refuse, the new
// messages before it become messages of the user, too. Contents of Gemini that get a neighbour
// of the same role become one content.
func (b *Body) Append(dst []byte, messages []Message) ([]byte, error) {
	patches, err := b.patches(messages)
	if err != nil {
		return nil, fmt.Errorf("body: %w", inside("messages", err))
	}
	if len(patches) == 0 {
		return append(dst, b.doc...), nil
	}
	return append(dst, splice(b.doc, patches)...), nil
}

func (b *Body) patches(messages []Message) ([]patch, error) {
	e := &editor{tree: b.top}
	placed, err := b.placeInstructions(e, messages)
	if err != nil {
		return nil, err
	}
	if b.sameList(messages, placed) {
		return e.all(), nil
	}
	text, err := b.listText(messages, placed)
	if err != nil {
		return nil, err
	}
	if b.list.raw != "" {
		return append(e.all(), b.list.replace(text)), nil
	}
	e.put(0, "input", text) // only the Responses API has documents without messages
	return e.all(), nil
}

// mine returns the index of an element of the list, negative if a message is not one of them.
func (b *Body) mine(o *origin) int {
	if o == nil || o.slot != 0 {
		return -1
	}
	i := sort.Search(len(b.elements), func(i int) bool { return b.elements[i].at >= o.at })
	if i < len(b.elements) && b.elements[i] == o {
		return i
	}
	return -1
}

// sameList reports whether the messages are those of the list, and nothing changed.
func (b *Body) sameList(messages []Message, placed []bool) bool {
	n := 0
	for i := range messages {
		m := &messages[i]
		switch {
		case placed[i]:
			continue
		case m.Changed():
			return false
		case b.elements == nil && m.origin.slot == slotText && m.origin.raw == b.list.raw && m.Role == RoleUser:
		case n >= len(b.elements) || b.elements[n] != m.origin:
			return false
		}
		n++
	}
	return n == max(len(b.elements), b.texts())
}

// texts returns how many messages are a text in place of the list.
func (b *Body) texts() int {
	if b.list.raw != "" && b.list.kind() == '"' {
		return 1
	}
	return 0
}

// listText writes the list of messages.
func (b *Body) listText(messages []Message, placed []bool) (string, error) {
	if m := b.onlyText(messages, placed); m != nil {
		return quote(m.Parts[0].Text), nil
	}
	w := &listWriter{writer: writer{form: b.Form, tools: toolNames(messages)}, body: b, gap: ",", skip: placed, dst: append(make([]byte, 0, len(b.list.raw)+1024), '[')}
	tail := "]"
	if n := len(b.elements); n > 0 {
		w.dst = append(w.dst, b.doc[b.list.at+1:b.elements[0].at]...)
		tail = b.doc[b.elements[n-1].end():b.list.end()]
		if n > 1 {
			w.gap = b.doc[b.elements[0].end():b.elements[1].at]
		}
	} else if b.texts() == 0 && b.list.raw != "" {
		tail = b.list.raw[1:]
	}
	if err := w.all(messages); err != nil {
		return "", err
	}
	return string(append(w.dst, tail...)), nil
}

// onlyText returns the message that is a text in place of the list, nil if it cannot be one any
// more.
func (b *Body) onlyText(messages []Message, placed []bool) (only *Message) {
	if b.texts() == 0 {
		return nil
	}
	for i := range messages {
		m := &messages[i]
		switch {
		case placed[i]:
		case only != nil || m.origin == nil || m.origin.slot != slotText || m.Role != RoleUser || m.Name != "" || len(m.Parts) != 1 || m.Parts[0].Kind != Text:
			return nil
		default:
			only = m
		}
	}
	return only
}

// space returns the white space before an element of the list, with the comma. It is gap for a
// message that is none, or the first.
func (b *Body) space(o *origin, gap string) string {
	if i := b.mine(o); i > 0 {
		return b.doc[b.elements[i-1].end():o.at]
	}
	return gap
}

// placeInstructions writes the messages that have a member of their own, and reports which these
// are.
func (b *Body) placeInstructions(e *editor, messages []Message) (placed []bool, err error) {
	placed = make([]bool, len(messages))
	if b.top == nil {
		return placed, nil
	}
	order, slots := b.instructionMembers(), make(map[int32][]int)
	first := int32(none)
	if len(order) > 0 {
		first = order[0]
	}
	leading := (b.Form == FormAnthropic || b.Form == FormGemini) && !answerFirst(messages)
	for i := range messages {
		m := &messages[i]
		leading = leading && m.Instructs()
		for _, at := range order {
			if b.stoodAt(m, at) {
				slots[at], placed[i] = append(slots[at], i), true
			}
		}
		if leading && !placed[i] && b.mine(m.origin) < 0 {
			slots[first], placed[i] = append(slots[first], i), true
		}
	}
	for _, at := range order {
		if err := b.placeAt(e, at, messages, slots[at]); err != nil {
			return nil, err
		}
	}
	if of := slots[none]; len(of) > 0 {
		err = b.newInstructions(e, messages, of)
	}
	return placed, err
}

// instructionMembers returns the members of the body that have instructions.
func (b *Body) instructionMembers() (members []int32) {
	if b.top == nil {
		return nil
	}
	for i := b.top.nodes[0].kid; i != none; i = b.top.nodes[i].next {
		if n := &b.top.nodes[i]; n.raw != "null" && slices.Contains(instructionNames, n.name) {
			members = append(members, i)
		}
	}
	return members
}

// Split divides the messages into those that stand in a member for instructions, and those of the list.
func (b *Body) Split() (instructions, list []Message) {
	n := len(b.instructionMembers())
	return b.Messages[:n:n], b.Messages[n:]
}

// Instructions returns the members for instructions, such as system, as a JSON object.
func (b *Body) Instructions() string {
	var members []string
	for _, at := range b.instructionMembers() {
		members = append(members, quote(b.top.nodes[at].name)+":"+b.top.nodes[at].raw)
	}
	return "{" + strings.Join(members, ",") + "}"
}

// Instruct returns the document with the members of a JSON object, as [Body.Instructions] returns it, in place of
// its own members for instructions. The document is not a bare list.
func (b *Body) Instruct(members string) ([]byte, error) {
	t, err := parse(members)
	if err != nil {
		return nil, fmt.Errorf("body: instructions: %w", err)
	}
	e := &editor{tree: b.top}
	for _, name := range instructionNames {
		if n := t.member(0, name); n != nil {
			e.put(0, name, n.raw)
		} else if at := b.top.index(0, name); at != none {
			e.gone = append(e.gone, at)
		}
	}
	return []byte(splice(b.doc, e.all())), nil
}

// stoodAt reports whether a message with instructions was read from a member.
func (b *Body) stoodAt(m *Message, member int32) bool {
	n, from := &b.top.nodes[member], m.origin
	return from != nil && from.slot != 0 && from.at == n.at && from.raw == n.raw && m.Instructs()
}

// answerFirst reports whether the assistant speaks first.
func answerFirst(messages []Message) bool {
	first := slices.IndexFunc(messages, func(m Message) bool { return !m.Instructs() })
	return first >= 0 && messages[first].Role == RoleAssistant
}

// placeAt writes the messages that stand in a member.
func (b *Body) placeAt(e *editor, at int32, messages []Message, of []int) error {
	n := &e.tree.nodes[at]
	if len(of) == 0 {
		e.gone = append(e.gone, at)
		return nil
	}
	if len(of) == 1 && messages[of[0]].origin != nil && messages[of[0]].origin.slot != 0 && !messages[of[0]].Changed() {
		return nil
	}
	var parts, old []Part
	for _, i := range of {
		m := &messages[i]
		parts = append(parts, m.Parts...)
		if m.origin != nil && m.origin.slot != 0 && old == nil {
			old = m.origin.parts
		}
	}
	text, err := b.slotValue(n, parts, old, of[0])
	if err != nil {
		return err
	}
	e.patches = append(e.patches, n.replace(text))
	return nil
}

// wrapper makes an object of a value, so that it can be changed as a member.
const wrapper = `{"content":`

// slotValue writes the value of a member with instructions. i is the index of the message that
// errors name.
func (b *Body) slotValue(n *node, parts, old []Part, i int) (string, error) {
	w := &writer{form: b.Form, own: true, index: i}
	if b.Form == FormOpenAI {
		w.form = FormAnthropic // a body of unknown origin: blocks of text are the same
	}
	if n.kind() == '{' {
		t, err := parse(n.raw)
		if err != nil {
			return "", err
		}
		e := &editor{tree: t}
		err = e.setList(w, 0, "parts", parts, old, 0, RoleSystem)
		return splice(n.raw, e.patches), err
	}
	if b.Form == FormResponses { // instructions are a text
		return quote(TextOf(parts)), nil
	}
	t, err := parse(wrapper + n.raw + "}")
	if err != nil {
		return "", err
	}
	e := &editor{tree: t}
	if err := e.setList(w, 0, "content", parts, old, -len(wrapper), RoleSystem); err != nil {
		return "", err
	}
	whole := splice(t.nodes[0].raw, e.patches)
	return whole[len(wrapper) : len(whole)-1], nil
}

// newInstructions adds the member for instructions to a document that has none.
func (b *Body) newInstructions(e *editor, messages []Message, of []int) error {
	var parts []Part
	for _, i := range of {
		parts = append(parts, messages[i].Parts...)
	}
	w := &writer{form: b.Form, own: true, index: of[0]}
	if b.Form == FormGemini {
		text, err := w.newList("parts", parts, RoleSystem)
		e.put(0, "systemInstruction", `{"parts":`+text+`}`)
		return err
	}
	if len(parts) == 1 && parts[0].Kind == Text {
		e.put(0, "system", parts[0].spelled())
		return nil
	}
	text, err := w.newList("content", parts, RoleSystem)
	e.put(0, "system", text)
	return err
}
