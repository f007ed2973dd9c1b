package message

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// MarshalJSON writes the message in the form in which it was read; what did not change is
// written as it came. A new message is written in the form of OpenAI's chat. Note that package
// encoding/json removes white space between the values and escapes <, > and &; [AppendList]
// does not.
func (m Message) MarshalJSON() ([]byte, error) { return m.Append(nil, FormAny) }

// AppendList writes a list of messages in a form. FormAny means that of [FormOf]. What did not
// change and was read in this form is written as it came, byte for byte; a changed message
// differs only where it changed. All others are written as new ones: a message may become
// several, and messages may become one, as the API demands. An error names the message and the
// member that cannot be written, see [ErrLoss].
//
// Messages of the system become messages of the user in the forms of Anthropic and Gemini,
// which have no others; see [Body] for a document with instructions.
func AppendList(dst []byte, messages []Message, form Form) ([]byte, error) {
	w := &listWriter{writer: writer{form: form, from: knownForm(messages), tools: toolNames(messages)}, gap: ",", dst: append(dst, '[')}
	if form == FormAny {
		w.form = FormOf(messages)
		w.asRead = true
	}
	if err := w.all(messages); err != nil {
		return nil, inside("messages", err)
	}
	return append(w.dst, ']'), nil
}

// Append writes the message in a form. FormAny means that of the message. Unlike [AppendList] it
// is an error if the message becomes several.
func (m *Message) Append(dst []byte, form Form) ([]byte, error) {
	one := []Message{*m}
	w := &listWriter{writer: writer{form: form, tools: toolNames(one)}, gap: ",", dst: dst, single: true}
	if form == FormAny {
		w.form, w.asRead = FormOf(one), true
	}
	if err := w.all(one); err != nil {
		return nil, fmt.Errorf("message: %w", err)
	}
	if w.count != 1 {
		return nil, fmt.Errorf("message: parts: become %d messages in the form %s: %w", w.count, w.form, ErrInvalid)
	}
	return w.dst, nil
}

// toolNames returns the names of tools by the ids of their calls.
func toolNames(messages []Message) map[string]string {
	names := make(map[string]string)
	for i := range messages {
		for j := range messages[i].Parts {
			if p := &messages[i].Parts[j]; p.Kind == ToolCall && p.ID != "" {
				names[p.ID] = p.Name
			}
		}
	}
	return names
}

// listWriter writes a list of messages.
type listWriter struct {
	writer
	dst   []byte
	count int // messages that were written
	tail  tail
	// single is true for one message, whose errors have no index.
	single bool
	// asRead writes messages of the system as they came, even if the form has none.
	asRead bool
	// open is the message that is being written, which the next one may continue.
	open *pending
	// calls is the number of calls whose results have not been written. held are the indexes of new
	// messages of the system that wait until then, because no API takes them between the two.
	calls    int
	held     []int
	messages []Message
	// body is the document in which the messages are written, nil for a list. gap stands between
	// messages, and skip has those that are written elsewhere.
	body *Body
	gap  string
	skip []bool
}

// pending is a message that is not written yet.
type pending struct {
	role    Role
	content []string
	text    string // the content as a JSON string, if it is one text
	refusal string
	calls   []string
	name    string
	results bool // it has only results
}

func (w *listWriter) all(messages []Message) error {
	w.messages = messages
	for _, i := range w.order(messages) {
		w.at(i)
		if err := w.message(&messages[i]); err != nil {
			return err
		}
	}
	w.calls = 0
	return w.flush()
}

// order returns the indexes of the messages that stand in the list, in the order in which they
// are written. In the form of Anthropic nothing but the assistant speaks after a message of the
// system: what is new there, such as a summary, is written before it.
func (w *listWriter) order(messages []Message) []int {
	order := make([]int, 0, len(messages))
	for i := range messages {
		if w.skip != nil && w.skip[i] {
			continue
		}
		order = append(order, i)
		if m := &messages[i]; w.form != FormAnthropic || m.origin != nil || m.Role == RoleAssistant || len(m.Results()) > 0 {
			continue
		}
		for n := len(order) - 1; n > 0 && messages[order[n-1]].Follows(); n-- {
			order[n-1], order[n] = order[n], order[n-1]
		}
	}
	return order
}

// at notes which message is written.
func (w *listWriter) at(i int) {
	if w.index = i; w.single {
		w.index = -1
	}
}

// put writes one message, with the comma before it. o is where it was read from, nil for a new one.
func (w *listWriter) put(raw, gap string, o *origin) error {
	if w.form == FormGemini && !w.asRead {
		if joined, err := w.join(raw, o); joined || err != nil {
			return err
		}
	}
	if w.count > 0 {
		w.dst = append(w.dst, gap...)
	}
	w.tail = tail{origin: o, at: len(w.dst)}
	w.dst = append(w.dst, raw...)
	w.count++
	return nil
}

// tail is the message that was written last.
type tail struct {
	origin *origin
	at     int // where it begins in dst
	// role is its role, and parts is where its list of parts ends in dst. They are known once
	// the message was compared.
	role  string
	parts int
}

// join adds the parts of a content of Gemini to the content before it if both have one role, because
// the API wants user and model to alternate. It returns false if the content stands alone. Contents
// that were neighbours in the document stay as they came.
func (w *listWriter) join(raw string, o *origin) (bool, error) {
	if w.count == 0 || w.neighbours(w.tail.origin, o) {
		return false, nil
	}
	if w.tail.role == "" {
		role, _, end, err := contentOf(string(w.dst[w.tail.at:]))
		if err != nil {
			return false, err
		}
		w.tail.role, w.tail.parts = role, w.tail.at+end
	}
	role, parts, _, err := contentOf(raw)
	if err != nil || role != w.tail.role || parts == "" || w.dst[w.tail.parts-1] == '[' {
		return false, err
	}
	w.dst = slices.Insert(w.dst, w.tail.parts, []byte(","+parts)...)
	w.tail.parts += 1 + len(parts)
	w.tail.origin = nil
	return true, nil
}

// neighbours reports whether two messages were read from one list. In a document, they must
// have stood side by side.
func (w *listWriter) neighbours(a, b *origin) bool {
	if a == nil || b == nil || w.body == nil {
		return a != nil && b != nil
	}
	i, j := w.body.mine(a), w.body.mine(b)
	return i >= 0 && j == i+1
}

// contentOf returns the role and the parts of a content of Gemini, and where its list of parts ends.
// parts is empty if there are none or if the content has other members.
func contentOf(raw string) (role, parts string, end int, err error) {
	t, err := parse(raw)
	if err != nil {
		return "", "", 0, err
	}
	role = cmp.Or(t.some(0, "role"), string(RoleUser))
	at := t.index(0, "parts")
	if at == none {
		return "", "", 0, inside("parts", fmt.Errorf("missing: %w", ErrInvalid))
	}
	list := &t.nodes[at]
	for _, n := range t.kids(0) {
		if n.name != "role" && n.name != "parts" {
			return role, "", list.end() - 1, nil
		}
	}
	return role, strings.TrimSpace(list.raw[1 : len(list.raw)-1]), list.end() - 1, nil
}

// message writes one message.
func (w *listWriter) message(m *Message) error {
	if !m.Role.Valid() {
		return w.fail("role", fmt.Errorf("%.100q: %w (want user, assistant, system, developer or tool)", m.Role, ErrInvalid))
	}
	w.own = m.origin == nil || m.origin.form == w.form || m.origin.form == FormAny
	if m.Role == RoleUser && len(m.Results()) == 0 {
		w.calls = 0 // no results follow
	}
	raw, ok, err := w.asItCame(m)
	if err != nil {
		return err
	}
	if !ok {
		return w.fresh(m)
	}
	if err := w.flush(); err != nil {
		return err
	}
	gap := w.gap
	if w.body != nil {
		gap = w.body.space(m.origin, gap)
	}
	w.track(m)
	return w.put(raw, gap, m.origin)
}

// asItCame returns the JSON of a message of this form, with its changes.
func (w *listWriter) asItCame(m *Message) (string, bool, error) {
	switch same := !m.Changed(); {
	case w.body != nil && w.body.mine(m.origin) >= 0:
		if same {
			return m.origin.raw, true, nil
		}
		return w.editAs(m, cmp.Or(m.origin.form, w.ownForm()))
	case m.origin != nil && m.origin.slot == slotObject && w.asRead && w.form == FormGemini && m.Instructs():
		return w.asTurn(m)
	case !w.sameForm(m):
		return "", false, nil
	case same:
		return m.origin.raw, true, nil
	}
	return w.edit(m)
}

// asTurn writes instructions of Gemini's form, which have a member of their own in a document, as
// a message with a role.
func (w *listWriter) asTurn(m *Message) (string, bool, error) {
	t, err := parse(m.origin.raw)
	if err != nil {
		return "", false, err
	}
	e := &editor{tree: t}
	if t.some(0, "role") != string(m.Role) {
		e.put(0, "role", quote(string(m.Role)))
	}
	if !equalParts(m.Parts, m.origin.parts) {
		err = e.setList(&w.writer, 0, "parts", m.Parts, m.origin.parts, 0, m.Role)
	}
	return splice(m.origin.raw, e.patches), true, err
}

// ownForm is the form in which a message that is the same in several forms changes.
func (w *listWriter) ownForm() Form {
	if w.form == FormGemini {
		return FormOpenAI
	}
	return w.form
}

// editAs writes a message of the document that has changed in its own form, which is rarely
// another one than that of the document.
func (w *listWriter) editAs(m *Message, form Form) (string, bool, error) {
	whole := w.form
	w.form = form
	raw, ok, err := w.edit(m)
	w.form = whole
	return raw, ok, err
}

// sameForm reports whether the JSON of a message can stand in this form.
func (w *listWriter) sameForm(m *Message) bool {
	switch {
	case m.origin == nil || m.origin.slot != 0:
		return false
	case m.Instructs() && !w.asRead && (w.body == nil || w.body.mine(m.origin) < 0) && (w.form == FormAnthropic || w.form == FormGemini):
		return false
	case m.origin.form != FormAny:
		return m.origin.form == w.form
	case w.converts() && (len(m.origin.others) > 0 || slices.ContainsFunc(m.origin.parts, func(p Part) bool { return !p.plain() })):
		return false
	case w.form == FormResponses:
		return !slices.ContainsFunc(m.origin.parts, func(p Part) bool { return p.place != inString })
	}
	return w.form != FormGemini
}

// track counts the calls that have no results yet.
func (w *listWriter) track(m *Message) {
	results := 0
	for i := range m.Parts {
		switch m.Parts[i].Kind {
		case ToolCall:
			w.calls++
		case ToolResult:
			results++
		}
	}
	w.calls = max(0, w.calls-results)
}

// release writes the messages of the system that waited for results.
func (w *listWriter) release() error {
	held, index := w.held, w.index
	w.held = nil
	for _, i := range held {
		w.at(i)
		if err := w.fresh(&w.messages[i]); err != nil {
			return err
		}
	}
	w.index = index
	return w.flush()
}

// flush writes the message that is open.
func (w *listWriter) flush() error {
	p := w.open
	if w.open = nil; p != nil {
		if err := w.put(w.document(p), w.gap, nil); err != nil {
			return err
		}
	}
	if w.calls == 0 && len(w.held) > 0 {
		return w.release()
	}
	return nil
}

// document returns the JSON of a new message. The Responses API takes a text of the assistant by
// itself, and parts only in a message with an id, which is that of an output.
func (w *listWriter) document(p *pending) string {
	var out strings.Builder
	out.WriteByte('{')
	if w.form == FormResponses {
		out.WriteString(`"type":"message",`)
	}
	out.WriteString(`"role":` + quote(w.roleName(p.role)))
	content := "[" + strings.Join(p.content, ",") + "]"
	switch {
	case w.form == FormGemini:
		out.WriteString(`,"parts":` + content)
	case len(p.content) == 0 && (len(p.calls) > 0 || p.refusal != ""):
		out.WriteString(`,"content":null`)
	case p.text != "":
		out.WriteString(`,"content":` + p.text)
	default:
		out.WriteString(`,"content":` + content)
	}
	if w.form == FormResponses && p.role == RoleAssistant && p.text == "" {
		sum := sha256.Sum256([]byte(strconv.Itoa(w.count) + content))
		out.WriteString(`,"id":"msg_` + hex.EncodeToString(sum[:16]) + `","status":"completed"`)
	}
	if p.name != "" {
		out.WriteString(`,"name":` + quote(p.name))
	}
	if p.refusal != "" {
		out.WriteString(`,"refusal":` + p.refusal)
	}
	if len(p.calls) > 0 {
		out.WriteString(`,"tool_calls":[` + strings.Join(p.calls, ",") + "]")
	}
	out.WriteByte('}')
	return out.String()
}
