package pdf

import (
	"bytes"
	"math"
	"strings"
	"unicode"

	"github.com/anchor-host/anchor-host/pipeline/ingest/meter"
)

// matrix maps points: x' = a·x + c·y + e, y' = b·x + d·y + f.
type matrix struct{ a, b, c, d, e, f float64 }

var identity = matrix{a: 1, d: 1}

// mul returns the matrix that applies m, then n.
func (m matrix) mul(n matrix) matrix {
	return matrix{
		m.a*n.a + m.b*n.c, m.a*n.b + m.b*n.d, m.c*n.a + m.d*n.c, m.c*n.b + m.d*n.d,
		m.e*n.a + m.f*n.c + n.e, m.e*n.b + m.f*n.d + n.f,
	}
}

// state is the part of the graphics state that text depends on.
type state struct {
	ctm                              matrix
	font                             *font
	size, leading, scale, char, word float64
}

// canvas collects the text of a page in the order in which the page shows it.
type canvas struct {
	*reader
	state
	stack     []state
	tm, line  matrix
	x, y      float64 // where the last text ended
	last      float64 // its size
	some      bool
	resources dict
	forms     int
}

// page returns the text of a page.
func (r *reader) page(p pageNode) string {
	c := canvas{reader: r, state: state{ctm: identity, scale: 1}, tm: identity, line: identity, resources: r.dict(p.resources)}
	var content []byte
	parts := r.array(p.dict["Contents"])
	if s, ok := r.resolve(p.dict["Contents"]).(stream); ok {
		parts = []any{s}
	}
	for _, part := range parts {
		if !r.m.Work(streamWork) {
			return ""
		}
		if s, ok := r.resolve(part).(stream); ok {
			data, held := r.unfold(s)
			if room, ok := meter.Room(r.m, content, len(data)+1); ok {
				content = append(append(room, data...), '\n')
			}
			r.m.Give(held)
		}
	}
	r.shown = r.shown[:0]
	c.run(content)
	r.m.Give(cap(content))
	return r.tidy(r.shown)
}

// streamWork is what a stream costs besides its bytes.
const streamWork = 2 << 10

// run interprets a content stream.
func (c *canvas) run(content []byte) {
	l := lexer{m: c.m, data: content}
	var args []any
	held := c.m.Held()
	for {
		v, ok := l.next()
		if !ok {
			return
		}
		o, isOp := v.(op)
		if !isOp {
			if len(args) < 64 {
				args = append(args, v)
			}
			continue
		}
		drawn := c.m.Held() - held
		if o == "BI" {
			l.skipImage()
		} else {
			c.do(o, args)
		}
		args = args[:0]
		c.m.Give(drawn)
		held = c.m.Held()
	}
}

// skipImage skips the data of an image in the content.
func (l *lexer) skipImage() {
	for i := l.pos; i+3 < len(l.data); i++ {
		if space(l.data[i]) && l.data[i+1] == 'E' && l.data[i+2] == 'I' && delimiter(l.data[i+3]) {
			l.pos = i + 3
			return
		}
	}
	l.pos = len(l.data)
}

func numbers(args []any) (n [6]float64) {
	for i, v := range args {
		if f, ok := v.(float64); ok && i < 6 && !math.IsInf(f, 0) {
			n[i] = f
		}
	}
	return n
}

func (c *canvas) do(o op, args []any) {
	n := numbers(args)
	switch o {
	case "q":
		if len(c.stack) < maxDepth {
			c.stack = append(c.stack, c.state)
		}
	case "Q":
		if k := len(c.stack); k > 0 {
			c.state, c.stack = c.stack[k-1], c.stack[:k-1]
		}
	case "cm":
		c.ctm = matrix{n[0], n[1], n[2], n[3], n[4], n[5]}.mul(c.ctm)
	case "BT":
		c.tm, c.line = identity, identity
	case "Tf":
		c.setFont(args)
	case "TL":
		c.leading = n[0]
	case "Tc":
		c.char = n[0]
	case "Tw":
		c.word = n[0]
	case "Tz":
		c.scale = n[0] / 100
	case "Td":
		c.move(n[0], n[1])
	case "TD":
		c.leading = -n[1]
		c.move(n[0], n[1])
	case "Tm":
		c.tm = matrix{n[0], n[1], n[2], n[3], n[4], n[5]}
		c.line = c.tm
	case "T*":
		c.move(0, -c.leading)
	case "Tj", "'", "\"":
		if o != "Tj" {
			c.move(0, -c.leading)
		}
		if len(args) > 0 {
			c.show(args[len(args)-1])
		}
	case "TJ":
		if len(args) > 0 {
			list, _ := args[0].([]any)
			for _, v := range list {
				c.show(v)
			}
		}
	case "Do":
		c.form(args)
	}
}

func (c *canvas) setFont(args []any) {
	if len(args) < 2 {
		return
	}
	n, _ := args[0].(name)
	c.size, _ = args[1].(float64)
	c.font = nil
	if v, ok := c.dict(c.resources["Font"])[string(n)]; ok {
		c.font = c.readFont(v)
	}
}

func (c *canvas) move(x, y float64) {
	c.line = matrix{1, 0, 0, 1, x, y}.mul(c.line)
	c.tm = c.line
}

// show shows a string, or moves by a number of thousandths.
func (c *canvas) show(v any) {
	switch v := v.(type) {
	case float64:
		c.advance(-v / 1000 * c.size * c.scale)
	case text:
		if c.font == nil {
			return
		}
		c.place()
		width, codes, spaces := c.decode(v)
		c.advance((width/1000*c.size + float64(codes)*c.char + float64(spaces)*c.word) * c.scale)
		at := c.tm.mul(c.ctm)
		c.x, c.y, c.some = at.e, at.f, true
	}
}

// decode shows a string. It returns its width in thousandths of the font's size.
func (c *canvas) decode(t text) (width float64, codes, spaces int) {
	f := c.font
	for len(t) > 0 {
		room, ok := meter.Room(c.m, c.shown, 4*maxMapping)
		if c.shown = room; !ok || !c.m.Work(4+len(f.texts)+len(f.wide)) {
			break
		}
		n := min(f.bytes, len(t))
		k := code(t[:n])
		t = t[n:]
		width += f.widthOf(k)
		codes++
		if n == 1 && k == ' ' {
			spaces++
		}
		before := len(c.shown)
		c.shown = f.appendText(c.shown, k, byte(k))
		c.m.Work(len(c.shown) - before)
	}
	return width, codes, spaces
}

func (c *canvas) advance(x float64) { c.tm = matrix{1, 0, 0, 1, x, 0}.mul(c.tm) }

// place writes what lies between the last text and the next: nothing, a space, the end of a line,
// or of a paragraph.
func (c *canvas) place() {
	at := c.tm.mul(c.ctm)
	size := math.Abs(c.size) * math.Hypot(at.c, at.d)
	if size == 0 || math.IsNaN(size) {
		size = 10
	}
	room, ok := meter.Room(c.m, c.shown, 2)
	if c.shown = room; c.some && ok {
		dx, dy := at.e-c.x, math.Abs(at.f-c.y)
		switch {
		case dy > 1.7*max(size, c.last) || math.IsNaN(dy):
			c.shown = append(c.shown, "\n\n"...)
		case dy > 0.5*size:
			c.shown = append(c.shown, '\n')
		case dx > 0.15*size || dx < -size:
			c.shown = append(c.shown, ' ')
		}
	}
	c.last = size
}

// form shows a form, which is a content of its own.
func (c *canvas) form(args []any) {
	if len(args) == 0 || c.forms >= maxForms {
		return
	}
	n, _ := args[0].(name)
	s, ok := c.resolve(c.dict(c.resources["XObject"])[string(n)]).(stream)
	if !ok || s.dict["Subtype"] != name("Form") || !c.m.Work(streamWork) {
		return
	}
	data, held := c.unfold(s)
	saved, resources, stack := c.state, c.resources, c.stack
	if m := c.array(s.dict["Matrix"]); len(m) == 6 {
		k := numbers(m)
		c.ctm = matrix{k[0], k[1], k[2], k[3], k[4], k[5]}.mul(c.ctm)
	}
	if own := c.dict(s.dict["Resources"]); own != nil {
		c.resources = own
	}
	c.stack = nil
	c.forms++
	c.run(data)
	c.forms--
	c.state, c.resources, c.stack = saved, resources, stack
	c.m.Give(held)
}

// tidy removes control characters, joins words that were hyphenated at the end of a line, and
// keeps at most one blank line.
func (r *reader) tidy(shown []byte) string {
	copies := 6 * len(shown)
	if !r.m.Take(copies) || !r.m.Work(8*len(shown)) {
		return ""
	}
	out := make([]byte, 0, len(shown))
	blank, hyphen := true, false
	for line := range strings.SplitSeq(string(shown), "\n") {
		start := -1
		for word := range strings.FieldsSeq(ligatures.Replace(strings.Map(printed, line))) {
			switch {
			case start >= 0:
				out = append(out, ' ')
			case !hyphen && len(out) > 0:
				out = append(out, '\n')
			}
			if start < 0 {
				start = len(out)
			}
			out = append(out, word...)
		}
		if start < 0 && !blank {
			out = append(out, '\n')
		}
		n := len(out)
		blank, hyphen = start < 0, start >= 0 && n-start > 2 && out[n-1] == '-' && out[n-2] >= 'a' && out[n-2] <= 'z'
		if hyphen {
			out = out[:n-1]
		}
	}
	text := string(bytes.TrimSpace(out))
	r.m.Give(copies - len(text))
	return text
}

// printed returns what is left of a character, -1 for nothing.
func printed(r rune) rune {
	switch {
	case r == '\t' || r == '\u00a0':
		return ' '
	case unicode.IsControl(r) || r == unicode.ReplacementChar:
		return -1
	}
	return r
}

var ligatures = strings.NewReplacer("ﬁ", "fi", "ﬂ", "fl", "ﬀ", "ff", "ﬃ", "ffi", "ﬄ", "ffl")
