package parse

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"github.com/anchor-host/anchor-host/pipeline/retrieve"
)

// html reads the tokens of a page and never builds its tree. So depth costs nothing, and the time
// is linear.
func (j *job) html(text string) (Document, error) {
	h := page{job: j}
	z := html.NewTokenizer(strings.NewReader(text))
	z.SetMaxBuf(4 << 20)
	h.line = 1
	for {
		if h.size > j.limits.Text {
			return h.d, fmt.Errorf("%w: more than %d bytes of text", ErrTooLarge, j.limits.Text)
		}
		t := z.Next()
		raw := z.Raw()
		if !j.m.Work(16 + 4*len(raw)) {
			return h.d, j.m.Err()
		}
		if t == html.ErrorToken {
			if err := z.Err(); !errors.Is(err, io.EOF) {
				return h.d, fmt.Errorf("%w: a tag or text of more than 4 MiB: %w", ErrDamaged, err)
			}
			break
		}
		newlines := bytes.Count(raw, []byte("\n"))
		switch t {
		case html.TextToken:
			words := 12 * len(raw) // while they are looked at
			if j.m.Take(words) {
				h.text(string(z.Text()), newlines)
			}
			j.m.Give(words)
		case html.StartTagToken, html.SelfClosingTagToken:
			name, attrs := z.TagName()
			h.start(atom.Lookup(name), t == html.SelfClosingTagToken)
			if atom.Lookup(name) == atom.Meta && attrs {
				h.meta(z)
			}
		case html.EndTagToken:
			name, _ := z.TagName()
			h.end(atom.Lookup(name))
		}
		h.line += newlines
	}
	h.flush()
	h.d.Title = oneLine(h.title.String())
	if h.d.Title == "" {
		for i := range h.d.Blocks {
			if h.d.Blocks[i].Kind == Heading {
				h.d.Title = h.d.Blocks[i].Text
				break
			}
		}
	}
	return h.d, nil
}

type page struct {
	*job
	d       Document
	title   strings.Builder
	inTitle bool
	b       strings.Builder // the open block
	first   int             // its first line
	last    int
	line    int
	size    int
	hidden  atom.Atom // the element whose text is left out
	depth   int       // of the hidden element
	level   int       // of the open heading
	pre     bool
	tables  int
	rows    int
	cells   int
	header  int
	space   bool
}

// left out: what is not content.
func hidden(a atom.Atom) bool {
	switch a {
	case atom.Script, atom.Style, atom.Noscript, atom.Template, atom.Svg, atom.Nav, atom.Iframe, atom.Object, atom.Select, atom.Button, atom.Canvas:
		return true
	}
	return false
}

func breaks(a atom.Atom) bool {
	switch a {
	case atom.P, atom.Div, atom.Section, atom.Article, atom.Main, atom.Header, atom.Footer, atom.Aside, atom.Ul, atom.Ol, atom.Dl, atom.Dt, atom.Dd,
		atom.Blockquote, atom.Figure, atom.Figcaption, atom.Form, atom.Fieldset, atom.Hr, atom.Details, atom.Summary, atom.Body, atom.Address, atom.Pre:
		return true
	}
	return heading(a) > 0
}

func heading(a atom.Atom) int {
	switch a {
	case atom.H1:
		return 1
	case atom.H2:
		return 2
	case atom.H3:
		return 3
	case atom.H4:
		return 4
	case atom.H5:
		return 5
	case atom.H6:
		return 6
	}
	return 0
}

func (h *page) start(a atom.Atom, closed bool) {
	if h.hidden != 0 {
		if a == h.hidden && !closed {
			h.depth++
		}
		return
	}
	switch {
	case hidden(a) && !closed:
		h.hidden, h.depth = a, 1
	case a == atom.Title:
		h.inTitle = h.title.Len() == 0
	case a == atom.Br:
		h.newline()
	case a == atom.Table:
		if h.tables == 0 {
			h.flush()
		}
		h.tables++
	case h.tables > 0:
		h.startInTable(a)
	case a == atom.Li:
		h.newline()
		h.raw("- ")
	case breaks(a):
		h.flush()
		h.level, h.pre = heading(a), a == atom.Pre
	}
}

func (h *page) startInTable(a atom.Atom) {
	switch a {
	case atom.Tr:
		if h.tables == 1 {
			h.newline()
			h.rows++
			h.cells = 0
		}
	case atom.Td, atom.Th:
		if h.tables == 1 {
			if a == atom.Th && h.rows == 1 {
				h.header = 1
			}
			if h.cells > 0 {
				h.raw(" | ")
			}
			h.cells++
			return
		}
		h.space = true
	default:
		h.space = h.space || breaks(a) || a == atom.Li
	}
}

func (h *page) end(a atom.Atom) {
	if h.hidden != 0 {
		if a == h.hidden {
			if h.depth--; h.depth == 0 {
				h.hidden = 0
			}
		}
		return
	}
	switch {
	case a == atom.Title:
		h.inTitle = false
	case a == atom.Table && h.tables > 0:
		if h.tables--; h.tables == 0 {
			h.flushAs(Table)
		}
	case h.tables > 0:
	case breaks(a):
		h.flush()
	}
}

// raw adds a text as it is.
func (h *page) raw(s string) {
	if h.b.Len() == 0 {
		h.first = h.line
	}
	h.last = h.line
	if h.m.Take(2 * len(s)) {
		h.b.WriteString(s)
	}
	h.size += len(s)
	h.space = false
}

func (h *page) newline() {
	if h.b.Len() > 0 && h.m.Take(2) {
		h.b.WriteByte('\n')
		h.size++
	}
	h.space = false
}

func (h *page) text(s string, newlines int) {
	switch {
	case h.inTitle:
		if h.title.Len()+len(s) < maxMeta {
			h.title.WriteString(s)
		}
		return
	case h.hidden != 0:
		return
	case h.pre:
		if h.b.Len() == 0 {
			s = strings.TrimPrefix(s, "\n")
		}
		h.raw(s)
		h.last = h.line + newlines
		return
	}
	if s == "" {
		return
	}
	fields := strings.Fields(s)
	if len(fields) == 0 {
		h.space = true
		return
	}
	if (h.space || s[0] <= ' ') && h.b.Len() > 0 {
		h.raw(" ")
	}
	h.raw(strings.Join(fields, " "))
	h.last = h.line + newlines
	h.space = s[len(s)-1] <= ' '
}

func (h *page) flush() {
	switch {
	case h.tables > 0:
		h.flushAs(Table)
	case h.level > 0:
		h.flushAs(Heading)
	case h.pre:
		h.flushAs(Code)
	default:
		h.flushAs(Text)
	}
}

func (h *page) flushAs(k Kind) {
	n := 2 * h.b.Len()
	h.m.Take(n)
	text := tidyLines(h.b.String(), k == Code)
	if k == Heading {
		text = oneLine(text)
	}
	h.m.Give(2 * n)
	if text != "" && h.m.Take(len(text)) {
		h.add(&h.d, Block{Kind: k, Level: h.level, Text: text, Header: h.header, Lines: retrieve.Lines{From: h.first, To: max(h.first, h.last)}})
	}
	h.b.Reset()
	h.level, h.pre, h.rows, h.cells, h.header, h.space = 0, false, 0, 0, 0, false
}

// tidyLines removes blank lines, and unless the text is code the spaces around lines.
func tidyLines(text string, code bool) string {
	if code {
		return strings.Trim(strings.TrimRight(text, " \t\n"), "\n")
	}
	if !strings.Contains(text, "\n") {
		return strings.TrimSpace(text)
	}
	var b strings.Builder
	for line := range strings.SplitSeq(text, "\n") {
		if line = strings.TrimSpace(line); line != "" && line != "-" {
			if b.Len() > 0 {
				b.WriteByte('\n')
			}
			b.WriteString(line)
		}
	}
	return b.String()
}

// meta reads the time that a page states.
func (h *page) meta(z *html.Tokenizer) {
	name, content := "", ""
	for more := true; more; {
		var k, v []byte
		k, v, more = z.TagAttr()
		switch string(k) {
		case "name", "property":
			name = string(v)
		case "content":
			content = string(v)
		}
	}
	switch strings.ToLower(name) {
	case "article:modified_time", "article:published_time", "date", "dcterms.modified":
		h.d.value("date", content)
	case "author", "description":
		h.d.value(strings.ToLower(name), content)
	}
}
