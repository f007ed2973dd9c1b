package svg

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/anchor-host/anchor-host/pipeline/core"
)

// Bar is a window.
type Bar struct {
	// Title is written above it.
	Title string
	// MaxTokens is the room of the window in tokens. A line shows where it ends.
	MaxTokens int
	// Segments are the items in the order of the window.
	Segments []Segment
	// Fixed is the number of tokens of the query and the tools, which are in the output and are no
	// items.
	Fixed int
	// Common is the number of tokens at the beginning of the prompt that a prompt cache has from the
	// previous build. It is drawn hatched below the bar. Below 0: unknown.
	Common int
}

// Segment is an item of a window.
type Segment struct {
	ID     string
	Source core.Source
	Tokens int
	// Changed marks an item that the other window of a [Diff] lacks, or has with other values. Note
	// says what changed.
	Changed bool
	Note    string
}

// colors are those of the sources, in the order of [core.Sources]. People who do not see all colors
// can tell them apart (Okabe and Ito).
var colors = [core.NumSources]string{"#56b4e9", "#009e73", "#e69f00", "#cc79a7", "#d55e00", "#f0e442"}

// Color is the color of a source, as "#rrggbb"; gray for one that is unknown.
func Color(s core.Source) string {
	if i := s.Index(); i >= 0 {
		return colors[i]
	}
	return "#999999"
}

// Heights of the parts of a window, in pixels.
const (
	barHeight    = 40
	commonHeight = 8
)

// Window draws a window: a segment for each item, as wide as its tokens, in the color of its source,
// and a line at the end of the room. Items that are narrower than a pixel share a segment.
func Window(b Bar) Drawing {
	var c canvas
	scale := scaleOf(&b)
	y := float64(line)
	c.text(0, y-5, "start", headed(b.Title))
	c.bar(&b, y, scale)
	y += barHeight
	if b.Common >= 0 {
		w := min(width, float64(b.Common)*scale)
		c.rect(0, y+3, w, commonHeight, hatch, ` stroke="currentColor" stroke-width="0.5" class="common"`, fmt.Sprintf("the first %d tokens of the prompt are those of the previous build", b.Common))
		y += 3 + commonHeight
	}
	y += line
	c.text(0, y-4, "start", "0")
	c.text(min(float64(b.MaxTokens)*scale, width), y-4, "end", fmt.Sprintf("%d tokens", b.MaxTokens))
	y += line
	c.legend(y-4, &b)
	return Drawing{
		title: headed(b.Title), height: int(y), body: c.Bytes(),
		about: fmt.Sprintf("%s: %d items with %d of %d tokens", headed(b.Title), len(b.Segments), used(&b), b.MaxTokens),
	}
}

// used is the number of tokens in a window.
func used(b *Bar) int {
	n := max(0, b.Fixed)
	for i := range b.Segments {
		n = sum(n, b.Segments[i].Tokens)
	}
	return n
}

// sum adds tokens. Numbers below 0 count as 0, and the sum never overflows.
func sum(a, b int) int {
	if s := a + max(0, b); s >= a {
		return s
	}
	return int(^uint(0) >> 1)
}

// scaleOf is the number of pixels of a token.
func scaleOf(bars ...*Bar) float64 {
	most := 1
	for _, b := range bars {
		most = max(most, b.MaxTokens, used(b))
	}
	return width / float64(most)
}

// piece is what one rectangle shows: an item, or several that are narrower than a pixel.
type piece struct {
	from, to    float64 // in pixels
	first, last int     // the items
	tokens      int
	source      core.Source // the one with most tokens
	changed     bool
}

// pieces divides a window. There are at most two for each pixel.
func pieces(b *Bar, scale float64) []piece {
	var list []piece
	var by [core.NumSources + 1]int
	thin, at := false, 0
	for i := range b.Segments {
		s := &b.Segments[i]
		n := max(0, s.Tokens)
		w := float64(n) * scale
		if joins := thin && w < 1 && list[len(list)-1].width() < 1; !joins {
			x := float64(at) * scale
			list, by = append(list, piece{from: x, to: x, first: i}), [core.NumSources + 1]int{}
		}
		p := &list[len(list)-1]
		at, thin = sum(at, n), w < 1
		p.to, p.last, p.tokens, p.changed = float64(at)*scale, i, sum(p.tokens, n), p.changed || s.Changed
		place := (s.Source.Index() + len(by)) % len(by)
		by[place] = sum(by[place], n)
		if by[place] >= slices.Max(by[:]) {
			p.source = s.Source
		}
	}
	return list
}

func (p *piece) width() float64 { return p.to - p.from }

func (p *piece) middle() float64 { return (p.from + p.to) / 2 }

// tip says what a piece shows.
func (p *piece) tip(b *Bar) string {
	s := &b.Segments[p.first]
	if p.first == p.last {
		text := fmt.Sprintf("%s, %s, %d tokens", short(s.ID), s.Source, s.Tokens)
		if s.Note != "" {
			text += ": " + s.Note
		}
		return text
	}
	return fmt.Sprintf("%d items from %s to %s, %d tokens", p.last-p.first+1, short(s.ID), short(b.Segments[p.last].ID), p.tokens)
}

// bar draws the segments, the query and the tools, and the line at the end of the room.
func (c *canvas) bar(b *Bar, y, scale float64) []piece {
	room := min(float64(max(0, b.MaxTokens))*scale, width)
	c.rect(0, y, room, barHeight, "none", ` stroke="currentColor" stroke-width="0.5" stroke-opacity="0.5"`, "")
	list := pieces(b, scale)
	end := 0.0
	for i := range list {
		p := &list[i]
		more := ` stroke="currentColor" stroke-width="0.3"`
		if p.width() < 3 {
			more = ""
		}
		if p.changed {
			more += ` class="changed"`
		}
		c.rect(p.from, y, max(p.width(), 0.25), barHeight, Color(p.source), more, p.tip(b))
		if p.changed {
			c.rect(p.from, y, max(p.width(), 1), barHeight, hatch, ` fill-opacity="0.45" pointer-events="none"`, "")
		}
		end = p.to
	}
	if b.Fixed > 0 {
		c.rect(end, y, float64(b.Fixed)*scale, barHeight, "currentColor", ` fill-opacity="0.25"`, fmt.Sprintf("the query and the tools, %d tokens", b.Fixed))
	}
	c.line(room, y-4, room, y+barHeight+4, ` stroke-width="2" class="budget"`, fmt.Sprintf("the end of the window: %d tokens", b.MaxTokens))
	return list
}

// legend names the sources of one window, or of two, with their tokens in each.
func (c *canvas) legend(y float64, bars ...*Bar) {
	tokens := map[core.Source][]int{}
	for n, b := range bars {
		for i := range b.Segments {
			s := b.Segments[i].Source
			if tokens[s] == nil {
				tokens[s] = make([]int, len(bars))
			}
			tokens[s][n] = sum(tokens[s][n], b.Segments[i].Tokens)
		}
	}
	var names []core.Source
	for s := range tokens {
		if s.Valid() {
			names = append(names, s)
		}
	}
	slices.SortFunc(names, func(a, b core.Source) int { return cmp.Compare(a.Index(), b.Index()) })
	x := 0.0
	entry := func(fill, more, name string, tokens []int) {
		text := name
		for n, of := range tokens {
			text += []string{" ", " → "}[min(n, 1)] + strconv.Itoa(of)
		}
		c.rect(x, y-9, 10, 10, fill, more, "")
		c.text(x+14, y, "start", text)
		x += float64(14 + 7*utf8.RuneCountInString(text) + 12)
	}
	each := func(of func(*Bar) int) (out []int) {
		for _, b := range bars {
			out = append(out, of(b))
		}
		return out
	}
	for _, s := range names {
		entry(Color(s), "", string(s), tokens[s])
	}
	if fixed := each(func(b *Bar) int { return max(0, b.Fixed) }); slices.Max(fixed) > 0 {
		entry("currentColor", ` fill-opacity="0.25"`, "query, tools", fixed)
	}
	if len(bars) == 1 && bars[0].Common >= 0 {
		entry(hatch, "", "as before", []int{bars[0].Common})
	}
	entry("none", ` stroke="currentColor" stroke-opacity="0.5"`, "free", each(func(b *Bar) int { return max(0, b.MaxTokens-used(b)) }))
}
