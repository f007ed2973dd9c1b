package message

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// writer writes messages in one form.
type writer struct {
	form Form
	// target is the form that errors name, if it is another one.
	target Form
	// from is the form of the messages in a conversion, FormAny if it is not known.
	from Form
	// own is true while the message that is written is new or of this form, so that its parts
	// of unknown types can stay.
	own bool
	// lossy leaves out what cannot be written, and notes it in left. Otherwise it is an error.
	lossy bool
	left  []error
	// index is that of the message, negative if there is only one. path is where the writer is in
	// it.
	index int
	path  []step
	// tools has the names of the tools by the ids of their calls, for forms whose results name
	// the tool.
	tools map[string]string
}

// step is an element of a list, such as content[3].
type step struct {
	list string
	i    int
}

// fail is an error about a member of the part or the message that is written, with the index of
// the message. The name is empty for the whole part.
func (w *writer) fail(member string, err error) error {
	if member != "" {
		err = inside(member, err)
	}
	for i := len(w.path) - 1; i >= 0; i-- {
		err = inside(w.path[i].list, indexed(w.path[i].i, err))
	}
	if w.index >= 0 {
		err = indexed(w.index, err)
	}
	return err
}

// lose notes that a member is left out. It is an error unless the writer is lossy.
func (w *writer) lose(member, why string) error {
	err := w.fail(member, fmt.Errorf("%s: %w", why, ErrLoss))
	if !w.lossy {
		return err
	}
	w.left = append(w.left, err)
	return nil
}

// loseUnknown loses a member that the form has no place for.
func (w *writer) loseUnknown(member string) error {
	return w.lose(member, "there is no such member in the form "+string(w.named()))
}

// loseKind loses a whole part.
func (w *writer) loseKind(p *Part) error {
	return w.lose("", fmt.Sprintf("%s: the form %s has no such part", strings.ReplaceAll(string(p.Kind), "_", " "), w.named()))
}

// named returns the form that errors name.
func (w *writer) named() Form { return cmp.Or(w.target, w.form) }

// converts reports whether the messages come from another form.
func (w *writer) converts() bool { return w.from != FormAny && w.from != w.form }

// plain reports whether the JSON of a text has no members that only one API knows.
func (p *Part) plain() bool {
	if p.place == inString {
		return true
	}
	if p.place != inChat {
		return false
	}
	t, err := parse(p.raw)
	return err == nil && len(t.nodes) == 3
}

// fits reports whether the JSON of a part can stand in this form.
func (w *writer) fits(p *Part) bool {
	switch p.place {
	case inChat:
		return (w.form == FormAnthropic || w.form == FormOpenAI) && (!w.converts() || p.plain())
	case inAnthropic:
		return w.form == FormAnthropic
	case inOpenAI, inCalls, inMessage:
		return w.form == FormOpenAI
	case inRefusal:
		return w.form == FormOpenAI || w.form == FormResponses
	case inResponses, inItem:
		return w.form == FormResponses
	case inGemini:
		return w.form == FormGemini
	case inOther:
		return w.own && !w.converts() && w.form != FormGemini
	}
	return false
}

// roleName returns the name of a role in the form.
func (w *writer) roleName(role Role) string {
	switch {
	case w.form == FormGemini && role == RoleAssistant:
		return "model"
	case (w.form == FormGemini || w.form == FormAnthropic) && role != RoleAssistant:
		return string(RoleUser)
	}
	return string(role)
}

// spelled returns the text of a part as a JSON string: as it came, if it did not change.
func (p *Part) spelled() string {
	if p.place == inString && unquote(p.raw) == p.Text {
		return p.raw
	}
	return quote(p.Text)
}

// isObject reports whether a text is a JSON object.
func isObject(text string) bool {
	text = strings.TrimLeft(text, " \t\r\n")
	return strings.HasPrefix(text, "{") && jsontext.Value(text).IsValid()
}

// patch replaces a part of a JSON text.
type patch struct {
	from, to int
	text     string
}

// splice replaces parts of a JSON text. They must not overlap.
func splice(raw string, patches []patch) string {
	var out strings.Builder
	size := len(raw)
	for i := range patches {
		size += len(patches[i].text)
	}
	out.Grow(size)
	at := 0
	for len(patches) > 0 {
		first := 0
		for i := range patches {
			if patches[i].from < patches[first].from {
				first = i
			}
		}
		p := patches[first]
		out.WriteString(raw[at:p.from])
		out.WriteString(p.text)
		at = p.to
		patches = append(patches[:first:first], patches[first+1:]...)
	}
	out.WriteString(raw[at:])
	return out.String()
}

// replace returns the patch that replaces a value.
func (n *node) replace(text string) patch { return patch{n.at, n.end(), text} }

// insert returns the patch that adds a member at the end of an object, with the white space
// that the members before it have.
func (t *tree) insert(object int32, name, value string) patch {
	n := &t.nodes[object]
	if n.kid == none {
		return patch{n.at + 1, n.at + 1, quote(name) + ":" + value}
	}
	first := &t.nodes[n.kid]
	gap, colon, last := ",", n.raw[first.key-n.at:first.at-n.at], first
	if first.next != none {
		gap = n.raw[first.end()-n.at : t.nodes[first.next].key-n.at]
	}
	for last.next != none {
		last = &t.nodes[last.next]
	}
	colon = colon[strings.LastIndexByte(colon, '"')+1:]
	return patch{last.end(), last.end(), gap + quote(name) + colon + value}
}

// without returns the patches that take members out of the object that is the root. They do not overlap, and leave no
// comma behind, which is why members are not taken out one by one.
func (t *tree) without(members []int32) (patches []patch) {
	begin, from, end := -1, t.nodes[t.nodes[0].kid].key, 0
	for i := t.nodes[0].kid; i != none; i = t.nodes[i].next {
		n := &t.nodes[i]
		end = n.end()
		if gone := slices.Contains(members, i); gone && begin < 0 {
			begin = n.key
		} else if !gone {
			if from = end; begin >= 0 {
				patches = append(patches, patch{begin, n.key, ""})
			}
			begin = -1
		}
	}
	if begin >= 0 {
		patches = append(patches, patch{from, end, ""})
	}
	return patches
}
