package pdf

import (
	"bytes"
	"math"
	"slices"
	"unicode/utf8"

	"github.com/anchor-host/anchor-host/pipeline/ingest/meter"
)

// glyph is what a code shows: a part of the text of its line.
type glyph struct {
	x, end   float64 // along the line
	from, to int     // of its text
	spaced   bool    // a space was shown before it
}

// drawn is the line that is being drawn.
type drawn struct {
	glyphs     []glyph
	text       []byte
	dirX, dirY float64 // where it goes
	across, up float64 // its place across, and on the page
	size       float64 // of the largest glyph
	spaced     bool    // a space was shown last
	accents    int     // that stand alone
	again      int     // the glyph at whose place the next is shown, -1 for none
	gap        bool    // it begins a paragraph
}

// line is one that is complete: a part of the text of the file.
type line struct {
	from, to int
	up, size float64
	gap      bool // it begins a paragraph
	turned   bool // it does not go from left to right
	dropped  bool // it repeats at the edge of pages
}

// Gaps in parts of the size of the font.
const (
	wordGap  = 0.15 // as wide as a space
	thinGap  = 0.04 // of a space that was shown, and is one
	lineGap  = 0.5  // across, to another line
	overlay  = 0.15 // between two drawings of the same glyph
	backward = 1    // to what is left of the text before
	loosest  = 0.3  // between letters
)

// place begins another line if what is shown next does not go on in the line before.
func (c *canvas) place(at matrix) (x float64) {
	l := &c.cur
	length := math.Hypot(at.a, at.b)
	dirX, dirY := at.a/length, at.b/length
	if !(length > 0) || math.IsInf(length, 0) {
		dirX, dirY = 1, 0
	}
	size := c.height(at)
	across := at.f*dirX - at.e*dirY
	if len(l.glyphs) > 0 {
		far := math.Abs(across - l.across)
		switch {
		case !(dirX*l.dirX+dirY*l.dirY > 0.99), !(far <= 1.7*max(size, l.size)):
			c.endLine(true)
		case far > lineGap*size:
			c.endLine(false)
		}
	}
	x = at.e*dirX + at.f*dirY
	l.again = -1
	if n := len(l.glyphs); n == 0 {
		l.size = 0
	} else if x < l.glyphs[n-1].x+0.1*size && c.m.Work(n) {
		l.again = slices.IndexFunc(l.glyphs, func(g glyph) bool { return math.Abs(g.x-x) < overlay*size })
	}
	l.dirX, l.dirY, l.across, l.up, l.size = dirX, dirY, across, at.f, max(l.size, size)
	return x
}

// repeated reports whether a glyph is there already, as some files draw bold letters twice.
func (l *drawn) repeated(shown []byte, x float64) bool {
	if l.again < 0 || l.again >= len(l.glyphs) {
		return false
	}
	g := l.glyphs[l.again]
	if l.again++; math.Abs(g.x-x) < overlay*l.size && bytes.Equal(l.text[g.from:g.to], shown) {
		return true
	}
	l.again = -1
	return false
}

// height is the size of the font on the page.
func (c *canvas) height(at matrix) float64 {
	size := math.Abs(c.size) * math.Hypot(at.c, at.d)
	if !(size > 0) || math.IsInf(size, 0) {
		return 10
	}
	return size
}

// endLine completes the line that is being drawn. The next one begins a paragraph if gap is true.
func (c *canvas) endLine(gap bool) {
	l := &c.cur
	if n := len(l.glyphs); n > 0 && c.m.Work(16*n+len(l.text)) {
		from := len(c.out)
		if l.accents > 0 && c.m.Work(500*l.accents) {
			if l.text, _ = meter.Room(c.m, l.text, 4*l.accents); c.m.Err() == nil {
				l.compose()
			}
		}
		room, ok := meter.Room(c.m, c.out, 4*len(l.text)+n)
		if c.out = room; ok {
			if rightToLeft(l.text) {
				c.visual()
			} else {
				c.write(l.glyphs, c.threshold())
			}
		}
		if len(c.out) > from {
			c.lines = meter.Append(c.m, c.lines, line{from: from, to: len(c.out), up: l.up, size: l.size, gap: l.gap, turned: !(l.dirX > 0.99)})
			l.gap = gap
		}
	}
	l.gap = l.gap || gap
	l.glyphs, l.text, l.spaced, l.accents = l.glyphs[:0], l.text[:0], false, 0
}

// write adds glyphs with spaces between words.
func (c *canvas) write(glyphs []glyph, threshold float64) {
	for i, g := range glyphs {
		if i > 0 && c.cur.divided(glyphs[i-1], g, threshold) {
			c.out = append(c.out, ' ')
		}
		c.out = append(c.out, c.cur.text[g.from:g.to]...)
	}
}

// divided reports whether a word ends between two glyphs.
func (l *drawn) divided(a, b glyph, threshold float64) bool {
	gap := b.x - a.end
	if b.spaced {
		return gap > thinGap*l.size || gap < -thinGap*l.size
	}
	return gap > threshold || gap < -backward*l.size || math.IsNaN(gap)
}

// threshold is the gap that divides words in the line. Letters may be set apart or close together: half
// of all gaps or more are inside of words.
func (c *canvas) threshold() float64 {
	l := &c.cur
	var some [64]float64
	gaps := some[:0]
	for i := 1; i < len(l.glyphs) && len(gaps) < len(some); i++ {
		if a, b := l.glyphs[i-1], l.glyphs[i]; !b.spaced && letter(l.text[a.from:]) && letter(l.text[b.from:]) {
			gaps = append(gaps, b.x-a.end)
		}
	}
	if len(gaps) < 4 {
		return wordGap * l.size
	}
	slices.Sort(gaps)
	if m := gaps[len(gaps)/2]; m > 0 && m < loosest*l.size {
		return m + wordGap*l.size
	}
	return wordGap * l.size
}

func letter(b []byte) bool {
	r, _ := utf8.DecodeRune(b)
	return r > '9'
}
