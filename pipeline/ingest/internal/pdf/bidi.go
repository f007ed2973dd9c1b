package pdf

import (
	"slices"
	"unicode/utf8"

	"golang.org/x/text/unicode/bidi"

	"github.com/anchor-host/anchor-host/pipeline/ingest/meter"
)

// rightToLeft reports whether a text may have letters of a script that goes from right to left.
func rightToLeft(t []byte) bool {
	for i, c := range t {
		switch {
		case c >= 0xD6 && c <= 0xDF, // U+0590 to U+07FF
			c == 0xE0 && i+1 < len(t) && t[i+1] < 0xA4,                    // to U+08FF
			c == 0xEF && i+1 < len(t) && t[i+1] >= 0xAC && t[i+1] <= 0xBB, // forms for presentation
			c == 0xF0 && i+1 < len(t) && t[i+1] == 0x90, c == 0xF0 && i+1 < len(t) && t[i+1] == 0x9E:
			return true
		}
	}
	return false
}

// unit is a glyph or a space, and its level: even ones go from left to right.
type unit struct {
	from, to int
	class    bidi.Class
	level    uint8
	mark     bool // it belongs to the letter that it stands on
}

// visual writes a line that has text from right to left in the order in which it is read. Pages show it in any order,
// but the places on the page are what the reader sees.
func (c *canvas) visual() {
	l := &c.cur
	threshold := c.threshold()
	slices.SortStableFunc(l.glyphs, func(a, b glyph) int {
		switch {
		case a.x < b.x:
			return -1
		case a.x > b.x:
			return 1
		}
		return 0
	})
	c.m.Work(16 * len(l.glyphs))
	c.units = c.units[:0]
	for i, g := range l.glyphs {
		if i > 0 && (l.divided(l.glyphs[i-1], g, threshold)) {
			c.units = meter.Append(c.m, c.units, unit{class: bidi.WS})
		}
		u := unit{from: g.from, to: g.to, class: classOf(l.text[g.from:g.to])}
		c.right, c.left = c.right+b2i(u.class == bidi.R), c.left+b2i(u.class == bidi.L)
		c.units = meter.Append(c.m, c.units, u)
	}
	base := c.base()
	levels(c.units, base)
	for level := uint8(2); level >= 1; level-- {
		reverse(c.units, level)
	}
	behind(c.units)
	for _, u := range c.units {
		if u.from == u.to {
			c.out = append(c.out, ' ')
			continue
		}
		part := l.text[u.from:u.to]
		if u.level == 1 {
			if m, ok := mirrored[string(part)]; ok {
				part = m
			}
		}
		c.out = append(c.out, part...)
	}
}

// base is the level of the line: that of the letters at both of its ends, or else of most letters of such lines.
func (c *canvas) base() uint8 {
	strong := func(u unit) bool { return u.class == bidi.L || u.class == bidi.R }
	i := slices.IndexFunc(c.units, strong)
	for k := len(c.units) - 1; k > i && i >= 0; k-- {
		if strong(c.units[k]) {
			if c.units[k].class == c.units[i].class {
				return uint8(b2i(c.units[k].class == bidi.R))
			}
			break
		}
	}
	return uint8(b2i(c.right >= c.left))
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

var mirrored = map[string][]byte{
	"(": []byte(")"), ")": []byte("("), "[": []byte("]"), "]": []byte("["), "{": []byte("}"), "}": []byte("{"),
	"<": []byte(">"), ">": []byte("<"), "«": []byte("»"), "»": []byte("«"),
}

// classOf returns the class of the first character that decides: L, R, EN, ES between digits, NSM or ON.
func classOf(t []byte) bidi.Class {
	class := bidi.ON
	for len(t) > 0 {
		p, size := bidi.Lookup(t)
		if size == 0 {
			_, size = utf8.DecodeRune(t)
			t = t[size:]
			continue
		}
		switch k := p.Class(); k {
		case bidi.L:
			return k
		case bidi.R, bidi.AL:
			return bidi.R
		case bidi.EN, bidi.AN:
			return bidi.EN
		case bidi.ES, bidi.CS, bidi.ET:
			return bidi.ES
		case bidi.NSM:
			class = k
		}
		t = t[size:]
	}
	return class
}

// classify makes numbers after Latin letters a part of these, and signs and marks a part of what they belong to.
func classify(units []unit) {
	strong := bidi.ON // the letter before
	for i := range units {
		u := &units[i]
		switch u.class {
		case bidi.L, bidi.R:
			strong = u.class
		case bidi.EN:
			if strong == bidi.L {
				u.class = bidi.L
			}
		case bidi.ES:
			// A sign inside of a number or at its side is a part of it.
			before, after := i > 0 && units[i-1].class == bidi.EN, i+1 < len(units) && units[i+1].class == bidi.EN
			if before && after {
				u.class = bidi.EN
			}
		case bidi.NSM:
			if u.mark = i > 0; u.mark {
				u.class = units[i-1].class
			}
		}
	}
}

// levels gives each unit its level, from the order on the page.
func levels(units []unit, base uint8) {
	classify(units)
	for i := 0; i < len(units); i++ {
		switch u := &units[i]; u.class {
		case bidi.L:
			u.level = 2 * base
		case bidi.R:
			u.level = 1
		case bidi.EN:
			u.level = 2
		default:
			end := i + 1
			for end < len(units) && units[end].class != bidi.L && units[end].class != bidi.R && units[end].class != bidi.EN {
				end++
			}
			level := base
			if before := side(units, i-1, base); before == side(units, end, base) {
				level = 2*base*(1-before) + before
			}
			for ; i < end; i++ {
				units[i].level = level
			}
			i--
		}
	}
}

// side is the direction at the side of signs without one: 1 for right to left. Numbers count as that.
func side(units []unit, i int, base uint8) uint8 {
	if i < 0 || i >= len(units) {
		return base
	}
	return uint8(b2i(units[i].class != bidi.L))
}

// reverse turns all runs of a level or a higher one.
func reverse(units []unit, level uint8) {
	for i := 0; i < len(units); i++ {
		if units[i].level < level {
			continue
		}
		end := i
		for end < len(units) && units[end].level >= level {
			end++
		}
		slices.Reverse(units[i:end])
		i = end
	}
}

// behind puts the marks of what was turned behind their letters again.
func behind(units []unit) {
	for i := 0; i < len(units); i++ {
		if !units[i].mark || units[i].level != 1 {
			continue
		}
		k := i
		for k < len(units)-1 && units[k].mark {
			k++
		}
		letter := units[k]
		copy(units[i+1:k+1], units[i:k])
		units[i], i = letter, k
	}
}
