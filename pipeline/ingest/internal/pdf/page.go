package pdf

import (
	"math"

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
	cur       drawn
	resources dict
	forms     int
	codes     int // that were shown
	unknown   int // of them without a Unicode value
}

// page adds the lines of a page to those of the file.
func (r *reader) page(p pageNode) {
	c := canvas{reader: r, state: state{ctm: identity, scale: 1}, tm: identity, line: identity, resources: r.dict(p.resources)}
	c.cur.glyphs, c.cur.text, c.cur.gap = r.glyphs[:0], r.shown[:0], true
	var content []byte
	parts := r.array(p.dict["Contents"])
	if s, ok := r.resolve(p.dict["Contents"]).(stream); ok {
		parts = []any{s}
	}
	for _, part := range parts {
		if !r.m.Work(streamWork) {
			return
		}
		if s, ok := r.resolve(part).(stream); ok {
			data, held := r.unfold(s)
			if room, ok := meter.Room(r.m, content, len(data)+1); ok {
				content = append(append(room, data...), '\n')
			}
			r.m.Give(held)
		}
	}
	first, from := len(r.lines), len(r.out)
	c.run(content)
	c.endLine(true)
	c.state, c.stack = state{ctm: identity, scale: 1}, nil
	c.notes(p.dict["Annots"])
	r.m.Give(cap(content))
	unread := 0.0
	if c.unknown >= leastUnknown && float64(c.unknown) > mostUnknown*float64(c.codes) {
		unread = float64(c.unknown) / float64(c.codes)
		r.lines, r.out = r.lines[:first], r.out[:from]
	}
	r.glyphs, r.shown = c.cur.glyphs, c.cur.text
	r.pages = meter.Append(r.m, r.pages, pageLines{first: first, end: len(r.lines), unread: unread})
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
		at := c.tm.mul(c.ctm)
		c.advance(c.decode(v, c.place(at), math.Hypot(at.a, at.b)))
	}
}

// decode shows a string from a place on the line, where one unit of text is some units of the page long. It returns
// how many units of text it is long.
func (c *canvas) decode(t text, x, length float64) float64 {
	f, l := c.font, &c.cur
	pos := 0.0
	for len(t) > 0 {
		room, ok := meter.Room(c.m, l.text, 4*maxMapping)
		if l.text = room; !ok || !c.m.Work(4+len(f.texts)+len(f.wide)) || f.charset != nil && !c.m.Work(200) {
			break
		}
		n := f.length(t)
		k := code(t[:n])
		t = t[n:]
		width := f.widthOf(k) * f.unit * c.size * c.scale
		before := len(l.text)
		l.text = f.appendText(l.text, k)
		switch shown := l.text[before:]; {
		case len(shown) == 0:
			c.codes, c.unknown = c.codes+1, c.unknown+1
		case len(shown) == 1 && shown[0] == ' ':
			l.text, l.spaced = l.text[:before], true
		case string(shown) == sign:
			l.text = l.text[:before]
			c.codes++
		case l.repeated(shown, x+pos*length):
			l.text = l.text[:before]
		default:
			c.codes++
			c.m.Work(len(shown))
			l.glyphs = meter.Append(c.m, l.glyphs, glyph{x + pos*length, x + (pos+width)*length, before, len(l.text), l.spaced})
			if l.spaced = false; len(shown) <= 2 && combining[string(shown)] != 0 {
				l.accents++
			}
		}
		pos += width + c.char*c.scale
		if n == 1 && k == ' ' {
			pos += c.word * c.scale
		}
	}
	return pos
}

func (c *canvas) advance(x float64) { c.tm = matrix{1, 0, 0, 1, x, 0}.mul(c.tm) }

// form shows a form, which is a content of its own.
func (c *canvas) form(args []any) {
	if len(args) == 0 || c.forms >= maxForms {
		return
	}
	n, _ := args[0].(name)
	if s, ok := c.resolve(c.dict(c.resources["XObject"])[string(n)]).(stream); ok && s.dict["Subtype"] == name("Form") {
		c.showForm(s)
	}
}

func (c *canvas) showForm(s stream) {
	if !c.m.Work(streamWork) {
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
