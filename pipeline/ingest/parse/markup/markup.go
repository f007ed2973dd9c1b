// Package markup reads reStructuredText, AsciiDoc, LaTeX and pages of the manual. It finds headings, code and
// tables. Of the first two it keeps the source of each block, which a model reads well, so that lines stay exact;
// of the others the commands are left out. It costs, in lines: what all share 100, reStructuredText 170, AsciiDoc
// 110, LaTeX 290, pages of the manual 330.
package markup

import (
	"strings"

	"github.com/anchor-host/anchor-host/pipeline/ingest/parse/document"
	"github.com/anchor-host/anchor-host/pipeline/retrieve"
)

// cutter cuts a text into blocks of whole lines.
type cutter struct {
	*document.Job
	d     *document.Document
	text  string
	pos   int // of the next line
	n     int // the number of the current line, from 1
	from  int // the start of the open block
	first int // its first line, 0 if none is open
	end   int
}

// next returns the next line without its end, and where it starts.
func (c *cutter) next() (line string, start int, ok bool) {
	if c.pos >= len(c.text) {
		return "", c.pos, false
	}
	start = c.pos
	line, c.pos = document.Line(c.text, start)
	c.n++
	return line, start, c.Meter.Work(16 + 4*len(line))
}

// peek returns the line after the current one, "" at the end.
func (c *cutter) peek() string {
	line, _, _ := strings.Cut(c.text[c.pos:], "\n")
	return line
}

// extend adds a line to the open block.
func (c *cutter) extend(line string, start int) {
	if c.first == 0 {
		c.from, c.first = start, c.n
	}
	c.end = start + len(line)
}

// flush ends the open block.
func (c *cutter) flush(kind document.Kind, header int) {
	if c.first == 0 {
		return
	}
	text := c.text[c.from:c.end]
	if strings.TrimSpace(text) != "" {
		c.Add(c.d, document.Block{Kind: kind, Text: text, Header: header, Exact: true, Lines: retrieve.Lines{From: c.first, To: c.first + strings.Count(text, "\n")}})
	}
	c.first = 0
}

func (c *cutter) heading(title string, level, first int) {
	if title = strings.TrimSpace(title); title != "" {
		c.Add(c.d, document.Block{Kind: document.Heading, Level: min(level, 9), Text: title, Lines: retrieve.Lines{From: first, To: c.n}})
	}
}

// indented takes the indented lines that follow into the open block, or skips them.
func (c *cutter) indented(keep bool) {
	for c.pos < len(c.text) {
		if line := c.peek(); !blank(line) && line[0] != ' ' && line[0] != '\t' {
			return
		}
		line, start, ok := c.next()
		if !ok {
			return
		}
		if keep && !blank(line) {
			c.extend(line, start)
		}
	}
}

// until takes lines into the open block up to one that is like this, which is the last of it.
func (c *cutter) until(end string, keep bool) {
	for {
		line, start, ok := c.next()
		if !ok {
			return
		}
		if keep {
			c.extend(line, start)
		}
		if strings.TrimRight(line, " \t") == end {
			return
		}
	}
}

// title sets the title of a document to its first heading, unless it has one.
func (c *cutter) title() {
	for i := range c.d.Blocks {
		if c.d.Title == "" && c.d.Blocks[i].Kind == document.Heading {
			c.d.Title = c.d.Blocks[i].Text
		}
	}
}

func blank(line string) bool { return strings.TrimSpace(line) == "" }
