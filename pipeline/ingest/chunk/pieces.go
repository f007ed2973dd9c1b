package chunk

import (
	"iter"
	"slices"
	"strings"

	"github.com/anchor-host/anchor-host/pipeline/ingest/meter"
	"github.com/anchor-host/anchor-host/pipeline/ingest/parse"
	"github.com/anchor-host/anchor-host/pipeline/retrieve"
)

// piece is what a chunk is put together from.
type piece struct {
	text     string
	glue     string // between it and the piece before
	headings []string
	opens    []string // the headings that begin between it and the piece before
	lines    retrieve.Lines
	exact    bool
	page     int
	whole    bool // not to be cut
	alone    bool // not to be put with others
	header   string
	tokens   int
}

// maxHeadings is how many headings above a chunk are kept.
const maxHeadings = 8

// maxHeading is the longest heading in bytes.
const maxHeading = 256

type section struct {
	level int
	title string
}

// pieces makes a piece of each block, and gives it its headings.
func (o *cutter) pieces(d *parse.Document) iter.Seq[piece] {
	return func(yield func(piece) bool) {
		var path []section
		var above, opens []string
		for i := range d.Blocks {
			b := &d.Blocks[i]
			p := piece{text: b.Text, glue: "\n\n", lines: b.Lines, exact: b.Exact, page: b.Page}
			if b.Kind == parse.Heading {
				title := strings.ToValidUTF8(b.Text[:min(len(b.Text), maxHeading)], "")
				path = slices.DeleteFunc(path, func(s section) bool { return s.level >= b.Level })
				if len(path) < maxHeadings {
					path = append(path, section{b.Level, title})
				}
				opens, above = append(opens, title), nil
				if last := i+1 == len(d.Blocks); !last && (d.Blocks[i+1].Kind != parse.Heading || d.Blocks[i+1].Level > b.Level) {
					continue
				}
				p.text, p.exact, opens = title, false, nil
			}
			if above == nil {
				above = o.headings(path)
			}
			p.headings, p.opens = above, opens
			opens = nil
			switch b.Kind {
			case parse.Table, parse.Rows:
				p.whole = true
				p.alone = b.Kind == parse.Rows
				p.header = b.Text[:headerEnd(b.Text, b.Header)]
			}
			if !yield(p) {
				return
			}
		}
	}
}

// headings returns the titles of the sections.
func (o *cutter) headings(path []section) []string {
	var titles []string
	for _, s := range path {
		titles = meter.Append(o.m, titles, s.title)
	}
	return titles
}

// headerEnd returns the end of the first n lines.
func headerEnd(text string, n int) int {
	end := 0
	for range n {
		i := strings.IndexByte(text[end:], '\n')
		if i < 0 {
			return len(text)
		}
		end += i + 1
	}
	return end
}

// parts returns the parts of a piece. Its lines are counted once over all of them.
func (o *cutter) parts(p *piece, spans iter.Seq[span], glue string) iter.Seq[piece] {
	return func(yield func(piece) bool) {
		line, done := p.lines.From, 0
		for s := range spans {
			q := *p
			q.text = p.text[s.from:s.to]
			q.glue = glue
			if s.from > 0 {
				q.opens = nil
			}
			if p.exact {
				line += strings.Count(p.text[done:s.from], "\n")
				done = s.from
				q.lines.From = line
				q.lines.To = line + strings.Count(strings.TrimRight(q.text, "\n"), "\n")
			}
			if !o.m.Work(16+len(q.text)) || !yield(q) {
				return
			}
		}
	}
}

// counted counts the tokens of the parts of a piece. The first has the glue of the whole.
func (o *cutter) counted(p *piece, parts iter.Seq[piece]) iter.Seq[piece] {
	return func(yield func(piece) bool) {
		first := true
		for q := range parts {
			if q.tokens = o.Count(q.text); first {
				q.glue, first = p.glue, false
			}
			if !yield(q) {
				return
			}
		}
	}
}

// cut makes pieces of at most size tokens of one.
func (o *cutter) cut(p *piece, place int) iter.Seq[piece] {
	p.tokens = o.Count(p.text)
	switch {
	case p.tokens <= o.Size, p.whole && !p.alone && p.tokens <= wholeTables*o.Size:
		return func(yield func(piece) bool) { yield(*p) }
	case p.whole:
		return o.cutTable(p)
	}
	return o.counted(p, o.parts(p, o.split(p.text, 0, place, o.Size), ""))
}

// cutTable cuts between lines, and gives every part the header.
func (o *cutter) cutTable(p *piece) iter.Seq[piece] {
	room, header := o.Size-o.Count(p.header), p.header
	if room < o.Size/4 { // the header alone would fill the parts
		room, header = o.Size, ""
	}
	spans := func(yield func(span) bool) {
		if header == "" && p.header != "" {
			for s := range o.split(p.header, 0, atWord, o.Size) {
				if !yield(s) {
					return
				}
			}
		}
		for s := range o.split(p.text[len(p.header):], len(p.header), atLine, room) {
			if !yield(s) {
				return
			}
		}
	}
	return func(yield func(piece) bool) {
		for q := range o.parts(p, spans, p.glue) {
			q.alone = true
			q.text = strings.TrimRight(header+q.text, "\n")
			q.tokens = o.Count(q.text)
			if !yield(q) {
				return
			}
		}
	}
}
