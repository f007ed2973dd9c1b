package pdf

import (
	"reflect"
	"strings"
	"unicode"
	"unsafe"
)

// Flags of annotations and of fields.
const (
	flagHidden = 1 << 1
	flagNoView = 1 << 5
	flagPush   = 1 << 16
	flagCombo  = 1 << 17
)

// notes shows what stands on a page but not in its content: values of forms, and notes.
func (c *canvas) notes(v any) {
	for _, v := range c.array(v) {
		d := c.dict(v)
		flags, _ := c.resolve(d["F"]).(float64)
		if !c.m.Work(64) || d == nil || int(flags)&(flagHidden|flagNoView) != 0 {
			continue
		}
		switch kind := c.resolve(d["Subtype"]); kind {
		case name("Popup"), name("Link"):
		case name("Widget"):
			c.field(d)
		default:
			if t := c.string(d["Contents"]); t != "" {
				c.say("", t)
			} else {
				c.appearance(d)
			}
		}
	}
}

// field shows the field of a form: its value with its label, or how it looks without a value.
func (c *canvas) field(widget dict) {
	f := c.inherited(widget)
	key := reflect.ValueOf(f.holder).UnsafePointer()
	flags, _ := f.flags.(float64)
	value := ""
	switch f.kind {
	case name("Btn"):
		if int(flags)&flagPush != 0 {
			c.appearance(widget)
			return
		}
		if n, ok := f.value.(name); ok && n != "Off" {
			value = string(n)
		}
	case name("Ch"):
		value = c.choices(f)
		if int(flags)&flagCombo == 0 || value == "" {
			c.appearance(widget)
		}
	default:
		if value = c.string(f.value); value == "" {
			c.appearance(widget)
		}
	}
	if value == "" || c.said[key] || !c.m.Take(slotBytes) {
		return
	}
	c.said[key] = true
	c.say(f.label, value)
}

// fieldParts are the parts of a field that a widget has or inherits.
type fieldParts struct {
	kind, value, flags, options any
	label                       string
	holder                      dict // what has the value
}

func (c *canvas) inherited(d dict) (f fieldParts) {
	partial := ""
	for depth := 0; d != nil && depth < maxDepth && c.m.Work(16); depth++ {
		for _, p := range []struct {
			key string
			to  *any
		}{{"FT", &f.kind}, {"V", &f.value}, {"Ff", &f.flags}, {"Opt", &f.options}} {
			if v := c.resolve(d[p.key]); v != nil && *p.to == nil {
				if *p.to = v; p.key == "V" {
					f.holder = d
				}
			}
		}
		if f.label == "" {
			f.label = c.string(d["TU"])
		}
		if partial == "" {
			partial = c.string(d["T"])
		}
		d = c.dict(d["Parent"])
	}
	if f.label == "" && strings.IndexFunc(partial, func(r rune) bool { return !unicode.IsLetter(r) && r != ' ' && r != '_' }) < 0 {
		f.label = partial
	}
	return f
}

// choices returns what is chosen, in the words that are shown.
func (c *canvas) choices(f fieldParts) string {
	chosen, ok := f.value.([]any)
	if !ok {
		chosen = []any{f.value}
	}
	options, _ := f.options.([]any)
	var shown []string
	for _, v := range chosen[:min(len(chosen), 1000)] {
		t := c.string(v)
		for _, o := range options {
			if !c.m.Work(16) {
				return ""
			}
			if pair := c.array(o); len(pair) == 2 && c.string(pair[0]) == t {
				t = c.string(pair[1])
				break
			}
		}
		if t != "" {
			shown = append(shown, t)
		}
	}
	return strings.Join(shown, ", ")
}

// string returns a text of the file outside of its pages.
func (c *canvas) string(v any) string {
	t, ok := c.resolve(v).(text)
	if !ok || !c.m.Work(64+8*len(t)) || !c.m.Take(8*len(t)) {
		return ""
	}
	s := strings.TrimSpace(decodeTitle(t))
	c.m.Give(8*len(t) - len(s))
	return s
}

// say adds a text as lines of its own.
func (c *canvas) say(label, text string) {
	c.endLine(true)
	if label != "" && label != text {
		text = label + ": " + text
	}
	for part := range strings.FieldsFuncSeq(text, func(r rune) bool { return r == '\n' || r == '\r' }) {
		if part = strings.Join(strings.Fields(clean(part)), " "); part != "" && c.m.Work(8*len(part)) && c.m.Take(3*len(part)+int(unsafe.Sizeof(line{}))) {
			from := len(c.out)
			c.out = append(c.out, part...)
			c.lines = append(c.lines, line{from: from, to: len(c.out), gap: c.cur.gap, turned: true})
			c.cur.gap = false
		}
	}
	c.cur.gap = true
}

// appearance shows how an annotation looks.
func (c *canvas) appearance(d dict) {
	n := c.resolve(c.dict(d["AP"])["N"])
	if states, ok := n.(dict); ok {
		state, _ := c.resolve(d["AS"]).(name)
		n = c.resolve(states[string(state)])
	}
	s, ok := n.(stream)
	if !ok {
		return
	}
	c.endLine(true)
	saved := c.state
	rect, box := c.array(d["Rect"]), numbers(c.array(s.dict["BBox"]))
	if r := numbers(rect); len(rect) == 4 {
		c.ctm = matrix{1, 0, 0, 1, min(r[0], r[2]) - box[0], min(r[1], r[3]) - box[1]}
	}
	c.showForm(s)
	c.state = saved
	c.endLine(true)
}
