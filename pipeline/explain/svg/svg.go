// Package svg draws builds as SVG: a window to scale, the steps along the time, and the windows of
// two builds above each other.
//
// A page that allows neither inline scripts nor inline styles can contain the drawings, because they
// have presentation attributes only. Each text in them is escaped. The number of elements
// depends on the width of a drawing and not on the number of items.
package svg

import (
	"bytes"
	"cmp"
	"encoding/xml"
	"fmt"
	"html"
	"io"
	"strconv"

	"github.com/anchor-host/anchor-host/internal/plain"
)

// Sizes of every drawing, in pixels.
const (
	width  = 960 // of what is drawn to scale
	margin = 16
	line   = 18 // of text
)

// Drawing is one drawing. Make it with [Window], [Steps] or [Diff].
type Drawing struct {
	title, about string
	height       int
	body         []byte
}

// Options say where drawings are shown.
type Options struct {
	// Page makes a file of its own, with a background and colors for dark screens. Otherwise the
	// drawing takes the color of text from the page that contains it.
	Page bool
	// ID is unique on the page that contains the drawing, such as "window". It consists of letters.
	// Empty: "drawing".
	ID string
}

// pageStyle is the style of a file.
const pageStyle = `<style>svg{color:#1b1f24}.page{fill:#fff}@media(prefers-color-scheme:dark){svg{color:#e6e6e6}.page{fill:#16191d}}</style>`

// Write writes drawings one below the other as one SVG document.
func Write(w io.Writer, o Options, drawings ...Drawing) error {
	id := cmp.Or(o.ID, "drawing")
	c := canvas{id: id}
	height := margin
	title := ""
	for _, d := range drawings {
		height += d.height + margin
		if title != "" {
			title += "; "
		}
		title += d.title
	}
	c.printf(`<svg xmlns="http://www.w3.org/2000/svg" class="drawing" viewBox="0 0 %d %d" width="%d" height="%d" role="img" aria-labelledby="%s-title" font-family="system-ui, sans-serif" font-size="12" color="#1b1f24">`,
		width+2*margin, height, width+2*margin, height, html.EscapeString(id))
	c.printf("\n<title id=\"%s-title\">%s</title>\n", html.EscapeString(id), escaped(title))
	if o.Page {
		c.printf("%s\n<rect class=\"page\" width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n", pageStyle)
	}
	c.printf(`<defs><pattern id="%s-hatch" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)"><rect width="2" height="6" fill="currentColor"/></pattern></defs>`+"\n", html.EscapeString(id))
	top := margin
	for _, d := range drawings {
		c.printf("<g transform=\"translate(%d %d)\" role=\"group\" aria-label=\"%s\">\n", margin, top, escaped(d.about))
		c.Write(bytes.ReplaceAll(d.body, []byte(hatch), []byte("url(#"+html.EscapeString(id)+"-hatch)")))
		c.printf("</g>\n")
		top += d.height + margin
	}
	c.printf("</svg>\n")
	_, err := w.Write(c.Bytes())
	return err
}

// hatch stands for the pattern, whose name is known when drawings are written. No escaped text has
// this character.
const hatch = "\x00"

// canvas is what a drawing is written into.
type canvas struct {
	bytes.Buffer
	id string
}

func (c *canvas) printf(format string, args ...any) { fmt.Fprintf(&c.Buffer, format, args...) }

// rect draws a rectangle. more has further attributes. tip is shown by the pointer; empty: nothing.
func (c *canvas) rect(x, y, w, h float64, fill, more, tip string) {
	c.printf(`<rect x="%s" y="%s" width="%s" height="%s" fill="%s"%s`, num(x), num(y), num(w), num(h), fill, more)
	c.tip("rect", tip)
}

func (c *canvas) line(x1, y1, x2, y2 float64, more, tip string) {
	c.printf(`<line x1="%s" y1="%s" x2="%s" y2="%s" stroke="currentColor"%s`, num(x1), num(y1), num(x2), num(y2), more)
	c.tip("line", tip)
}

func (c *canvas) tip(element, tip string) {
	if tip == "" {
		c.printf("/>\n")
		return
	}
	c.printf("><title>%s</title></%s>\n", escaped(tip), element)
}

// text writes one line whose foot is at y. anchor is start, middle or end.
func (c *canvas) text(x, y float64, anchor, text string) {
	c.printf(`<text x="%s" y="%s" text-anchor="%s" fill="currentColor">%s</text>`+"\n", num(x), num(y), anchor, escaped(text))
}

// num writes a length with at most two decimals.
func num(x float64) string {
	if x < 0 || x != x {
		x = 0
	}
	return strconv.FormatFloat(float64(int64(x*100+0.5))/100, 'f', -1, 64)
}

// escaped makes one line of text safe for XML and for readers.
func escaped(text string) string {
	var b bytes.Buffer
	_ = xml.EscapeText(&b, []byte(plain.Line(text))) // a buffer takes everything
	return b.String()
}

// Lengths in characters: of a name, and of a title, which has the width of a drawing.
const longest, longestTitle = 80, 140

// short is the beginning of a name, headed that of a title.
func short(text string) string { return begin(text, longest) }

func headed(text string) string { return begin(text, longestTitle) }

// begin is the beginning of a text.
func begin(text string, most int) string {
	n := 0
	for i := range text {
		if n == most {
			return text[:i] + "…"
		}
		n++
	}
	return text
}
