package chunk

import (
	"slices"
	"strings"

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
func pieces(d *parse.Document) []piece {
	var list []piece
	var path []section
	var opens []string
	headings := func() []string {
		titles := make([]string, 0, len(path))
		for _, s := range path {
			titles = append(titles, s.title)
		}
		return titles
	}
	var above []string
	for i := range d.Blocks {
		b := &d.Blocks[i]
		if b.Kind == parse.Heading {
			title := strings.ToValidUTF8(b.Text[:min(len(b.Text), maxHeading)], "")
			path = slices.DeleteFunc(path, func(s section) bool { return s.level >= b.Level })
			if len(path) < maxHeadings {
				path = append(path, section{b.Level, title})
			}
			opens = append(opens, title)
			above = headings()
			if last := i+1 == len(d.Blocks); last || d.Blocks[i+1].Kind == parse.Heading && d.Blocks[i+1].Level <= b.Level {
				list = append(list, piece{text: title, glue: "\n\n", headings: above, lines: b.Lines, page: b.Page})
				opens = nil
			}
			continue
		}
		p := piece{text: b.Text, glue: "\n\n", headings: above, opens: opens, lines: b.Lines, exact: b.Exact, page: b.Page}
		opens = nil
		switch b.Kind {
		case parse.Table, parse.Rows:
			p.whole = true
			p.alone = b.Kind == parse.Rows
			p.header = b.Text[:headerEnd(b.Text, b.Header)]
		}
		list = append(list, p)
	}
	return list
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
func (p *piece) parts(spans []span, glue string) []piece {
	list := make([]piece, 0, len(spans))
	line, done := p.lines.From, 0
	for _, s := range spans {
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
		list = append(list, q)
	}
	return list
}

// cut makes pieces of at most size tokens of one.
func (o *Options) cut(p *piece, place int) []piece {
	p.tokens = o.Count(p.text)
	switch {
	case p.tokens <= o.Size:
		return []piece{*p}
	case p.whole && !p.alone && p.tokens <= wholeTables*o.Size:
		return []piece{*p}
	case p.whole:
		return o.cutTable(p)
	}
	list := p.parts(o.split(p.text, place, o.Size), "")
	for i := range list {
		list[i].tokens = o.Count(list[i].text)
	}
	list[0].glue = p.glue
	return list
}

// cutTable cuts between lines, and gives every part the header.
func (o *Options) cutTable(p *piece) []piece {
	room := o.Size - o.Count(p.header)
	body := p.text[len(p.header):]
	header := p.header
	if room < o.Size/4 { // the header alone would fill the parts
		room, header = o.Size, ""
	}
	spans := o.split(body, atLine, room)
	for i := range spans {
		spans[i].from += len(p.header)
		spans[i].to += len(p.header)
	}
	if header == "" && p.header != "" {
		spans = append(o.split(p.header, atWord, o.Size), spans...)
	}
	list := p.parts(spans, p.glue)
	for i := range list {
		q := &list[i]
		q.alone = true
		q.text = strings.TrimRight(header+q.text, "\n")
		q.tokens = o.Count(q.text)
	}
	return list
}
