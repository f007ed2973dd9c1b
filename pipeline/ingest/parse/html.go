package parse

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"github.com/anchor-host/anchor-host/pipeline/ingest/parse/document"
	"github.com/anchor-host/anchor-host/pipeline/retrieve"
)

// html reads the tokens of a page and never builds its tree. So depth costs nothing, and the time
// is linear.
func (j *job) html(text string) (Document, error) {
	h := page{job: j, hasMain: hasMain(text)}
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
				h.text(strings.ReplaceAll(string(z.Text()), "\u00ad", ""), newlines)
			}
			j.m.Give(words)
		case html.StartTagToken, html.SelfClosingTagToken:
			name, more := z.TagName()
			a, closed := atom.Lookup(name), t == html.SelfClosingTagToken
			if a == atom.Meta {
				h.meta(z, more)
				break
			}
			h.attributes(z, more)
			h.start(a, closed)
		case html.EndTagToken:
			name, _ := z.TagName()
			h.end(atom.Lookup(name))
		}
		h.line += newlines
	}
	h.dropMark()
	if h.tables > 0 {
		h.endRow()
	}
	h.flush()
	h.dropMenus()
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
	b       []byte // the open block
	first   int    // its first line
	last    int
	line    int
	size    int
	hidden  atom.Atom // the element whose text is left out
	depth   int       // of the hidden element
	level   int       // of the open heading
	pre     bool
	tables  int
	rows    int
	header  int
	space   bool
	lists   []int // the next number of each open list, -1 for one without numbers
	anchor  int   // where a link to a place in the page begins, -1 for none
	term    int   // the length of the open block at the end of a term of a list of descriptions
	hasMain bool  // the page says what its main part is
	inMain  int
	// bold is how many bold elements are open, and inBold and beside what the open block has in them and beside them.
	bold, inBold, beside int
	// links says how much of the page is links, for menus.
	links linking
	// openTerm says that a term is open.
	openTerm bool
	attr     attributes // of the open tag
	row      tableRow
}

// attributes are those of a tag that matter.
type attributes struct {
	hidden     bool
	role, href string
	menu       bool   // its names are those of a menu
	alt        string // the text that stands for a picture
	start      int
	rows, cols int
}

// attributes reads those of a tag.
func (h *page) attributes(z *html.Tokenizer, more bool) {
	h.attr = attributes{start: 1, rows: 1, cols: 1}
	for more {
		var k, v []byte
		k, v, more = z.TagAttr()
		switch string(k) {
		case "hidden":
			h.attr.hidden = h.attr.hidden || !strings.EqualFold(string(v), "until-found")
		case "aria-hidden":
			h.attr.hidden = h.attr.hidden || strings.EqualFold(string(v), "true")
		case "style":
			style := strings.ToLower(strings.Join(strings.Fields(string(v[:min(len(v), 4096)])), ""))
			h.attr.hidden = h.attr.hidden || strings.Contains(style, "display:none") || strings.Contains(style, "visibility:hidden")
		case "role":
			h.attr.role = strings.ToLower(string(v))
		case "class", "id":
			h.attr.menu = h.attr.menu || !h.hasMain && namesMenu(v)
			h.attr.hidden = h.attr.hidden || turnsPages(v)
		case "href":
			h.attr.href = string(v[:min(len(v), 2)])
		case "alt":
			h.attr.alt = oneLine(string(v[:min(len(v), maxMeta)]))
		case "start":
			h.attr.start = small(v, 1, 1<<30)
		case "rowspan":
			h.attr.rows = small(v, 1, maxSpan)
		case "colspan":
			h.attr.cols = small(v, 1, maxSpan)
		}
	}
}

// maxSpan bounds the rows and columns of a cell.
const maxSpan = 256

// small returns a number of an attribute, within bounds.
func small(v []byte, least, most int) int {
	n, err := strconv.Atoi(strings.TrimSpace(string(v[:min(len(v), 12)])))
	if err != nil {
		return least
	}
	return min(max(n, least), most)
}

// hasMain reports whether a page says what its main part is.
func hasMain(text string) bool {
	for rest := text; ; {
		i := strings.IndexByte(rest, '<')
		if i < 0 {
			return false
		}
		rest = rest[i+1:]
		tag := rest[:min(len(rest), 8)]
		if len(tag) > 7 && (strings.EqualFold(tag[:4], "main") && !isLetter(tag[4]) || strings.EqualFold(tag[:7], "article") && !isLetter(tag[7])) {
			return true
		}
	}
}

func isLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' || c == '-' }

// optional reports whether an element may lack its end, so that the next one ends it.
func optional(a atom.Atom) bool {
	switch a {
	case atom.P, atom.Li, atom.Dt, atom.Dd, atom.Td, atom.Th, atom.Tr, atom.Option:
		return true
	}
	return false
}

func void(a atom.Atom) bool {
	switch a {
	case atom.Area, atom.Base, atom.Br, atom.Col, atom.Embed, atom.Hr, atom.Img, atom.Input, atom.Link, atom.Meta, atom.Source, atom.Track, atom.Wbr:
		return true
	}
	return false
}

// leftOut reports whether an element is not content: hidden, or what all pages of a site have.
func (h *page) leftOut(a atom.Atom) bool {
	switch {
	case hidden(a) || h.attr.hidden && a != atom.Body && a != atom.Html:
		return true
	case h.attr.role == "navigation" || h.attr.role == "search":
		return true
	case a == atom.Header || a == atom.Footer || a == atom.Aside || h.attr.role == "banner" || h.attr.role == "contentinfo":
		return h.hasMain && h.inMain == 0
	}
	return false
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
	if h.hidden != 0 && optional(h.hidden) && (a == h.hidden || h.hidden == atom.P && breaks(a)) && h.depth == 1 {
		h.hidden = 0
	}
	if h.hidden != 0 {
		if a == h.hidden && !closed {
			h.depth++
		}
		return
	}
	switch {
	case void(a) && h.attr.hidden:
	case a == atom.Img:
		if h.attr.alt != "" && h.m.Take(len(h.attr.alt)) {
			h.text("["+h.attr.alt+"]", 0)
		}
	case h.leftOut(a) && !closed && !void(a):
		h.hidden, h.depth = a, 1
	case a == atom.A:
		h.links.start(h.attr.href != "" && h.attr.href[0] != '#')
		if h.anchor = -1; strings.HasPrefix(h.attr.href, "#") {
			h.anchor = len(h.b)
		}
	case a == atom.B || a == atom.Strong:
		if !closed {
			h.bold++
		}
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
		h.startItem()
	case breaks(a):
		h.startBlock(a)
	}
	if !closed && h.hidden == 0 {
		h.links.enter(a, h.attr.menu || h.attr.role == "menu" || h.attr.role == "menubar")
	}
}

// startBlock ends the block before. The first block of an item of a list goes on after its mark, and
// that of a description after its term, so that a chunk has both.
func (h *page) startBlock(a atom.Atom) {
	if h.openTerm && (a == atom.Dd || a == atom.Dt) {
		h.endTerm()
	}
	h.openTerm = a == atom.Dt
	if !h.marked() && !h.termed() || heading(a) > 0 || a == atom.Pre {
		h.dropMark()
		h.flush()
		h.level, h.pre = heading(a), a == atom.Pre
	}
	switch {
	case a == atom.Main || a == atom.Article:
		h.inMain++
	case (a == atom.Ul || a == atom.Ol) && len(h.lists) < maxLists:
		next := -1
		if a == atom.Ol {
			next = h.attr.start
		}
		h.lists = append(h.lists, next)
	}
}

// endTerm has the next block go on after a term of a list of descriptions.
func (h *page) endTerm() {
	h.openTerm = false
	if h.level > 0 || h.pre {
		h.flush()
	}
	h.newline()
	h.term = len(h.b)
}

// termed reports whether nothing follows a term yet.
func (h *page) termed() bool { return h.term > 0 && h.term == len(h.b) }

// maxLists bounds the lists inside each other whose numbers are counted.
const maxLists = 64

func (h *page) startItem() {
	h.dropMark()
	h.newline()
	n := len(h.lists)
	if n == 0 || h.lists[n-1] < 0 {
		h.raw("- ")
		return
	}
	h.raw(strconv.Itoa(h.lists[n-1]) + ". ")
	h.lists[n-1]++
}

// mark is the length of the mark of an item, if nothing follows it, else 0.
func (h *page) mark() int {
	line := h.b[bytes.LastIndexByte(h.b, '\n')+1:]
	if string(line) == "- " || len(line) > 2 && len(bytes.Trim(line[:len(line)-2], "0123456789")) == 0 && string(line[len(line)-2:]) == ". " {
		return len(line)
	}
	return 0
}

func (h *page) marked() bool { return h.tables == 0 && !h.pre && h.level == 0 && h.mark() > 0 }

// dropMark leaves out the mark of an empty item.
func (h *page) dropMark() {
	if h.marked() {
		h.b = h.b[:len(h.b)-h.mark()]
	}
}

func (h *page) startInTable(a atom.Atom) {
	switch a {
	case atom.Tr:
		if h.tables == 1 {
			h.endRow()
			h.rows++
		} else if h.row.open {
			h.inCell("; ")
		}
	case atom.Td, atom.Th:
		if h.tables == 1 {
			h.endCell()
			if a == atom.Th && h.rows <= 1 {
				h.header = 1
			}
			h.row.begin(len(h.b), h.attr)
			h.space = false
			return
		}
		h.space = true
	case atom.Li:
		h.space = true
	default:
		h.space = h.space || breaks(a)
	}
}

// inCell divides the rows of a table that is inside of a cell.
func (h *page) inCell(s string) {
	if text := bytes.TrimRight(h.b[min(h.row.at, len(h.b)):], " "); len(text) > 0 && !bytes.HasSuffix(text, []byte(";")) {
		h.raw(s)
	}
}

func (h *page) end(a atom.Atom) {
	if h.hidden != 0 {
		if a == h.hidden {
			if h.depth--; h.depth == 0 {
				h.hidden = 0
			}
			return
		}
		if !optional(h.hidden) || a != atom.Ul && a != atom.Ol && a != atom.Dl && a != atom.Table && a != atom.Div && a != atom.Body {
			return
		}
		h.hidden = 0
	}
	defer h.links.leave(a)
	switch {
	case a == atom.Title:
		h.inTitle = false
	case a == atom.B || a == atom.Strong:
		h.bold = max(0, h.bold-1)
	case a == atom.A:
		h.links.open = false
		h.endLink()
	case a == atom.Table && h.tables > 0:
		if h.tables == 1 {
			h.endRow()
		}
		if h.tables--; h.tables == 0 {
			h.flushAs(Table)
		}
	case h.tables > 0:
		h.space = h.space || breaks(a)
	case a == atom.Li:
		h.dropMark()
	case a == atom.Dt:
		h.endTerm()
	case breaks(a):
		h.dropMark()
		h.flush()
		switch {
		case (a == atom.Main || a == atom.Article) && h.inMain > 0:
			h.inMain--
		case (a == atom.Ul || a == atom.Ol) && len(h.lists) > 0:
			h.lists = h.lists[:len(h.lists)-1]
		}
	}
}

// endLink leaves out a link of a heading to itself.
func (h *page) endLink() {
	if h.anchor >= 0 && h.anchor <= len(h.b) {
		switch string(bytes.TrimSpace(h.b[h.anchor:])) {
		case "¶", "#", "§", "🔗", "\uf0c1", "[link]":
			h.b = h.b[:h.anchor]
		}
	}
	h.anchor = -1
}

// tableRow is the open row of a table.
type tableRow struct {
	open  bool
	at    int // where the open cell begins
	attr  attributes
	cells int
	own   int               // the cells that began in it
	above [maxSpan]struct { // values that go on in the next rows, by columns
		text string
		left int
	}
}

func (r *tableRow) begin(at int, a attributes) {
	r.own++
	r.open, r.at, r.attr = true, at, a
}

// put writes a cell, before what is after it in the buffer.
func (h *page) put(text string) {
	if h.row.cells > 0 {
		h.raw(" | ")
	}
	h.raw(text)
	h.row.cells++
}

// goOn writes the values of cells that began in rows above.
func (h *page) goOn() {
	r := &h.row
	for r.cells < maxSpan && r.above[r.cells].left > 0 {
		c := &r.above[r.cells]
		c.left--
		if !h.m.Work(len(c.text)) {
			return
		}
		h.put(c.text)
	}
}

// endCell writes the open cell.
func (h *page) endCell() {
	r := &h.row
	if !r.open {
		return
	}
	r.open = false
	text := strings.TrimSpace(string(h.b[min(r.at, len(h.b)):]))
	h.b = h.b[:min(r.at, len(h.b))]
	h.goOn()
	for n := 0; n < r.attr.cols && h.m.Work(len(text)) && (n == 0 || r.cells < maxSpan); n++ {
		if n == 1 && len(text) > maxRepeated {
			text = ""
		}
		if r.cells < maxSpan && r.attr.rows > 1 && h.m.Take(len(text)) {
			r.above[r.cells].text, r.above[r.cells].left = text, r.attr.rows-1
		}
		h.put(text)
	}
}

// maxRepeated is the longest value, in bytes, that each of the columns of a cell gets.
const maxRepeated = 100

func (h *page) endRow() {
	if h.row.own == 1 && h.row.above[0].left == 0 { // a cell over the whole row is a line of text
		h.row.attr.cols = 1
	}
	h.endCell()
	if h.row.cells > 0 {
		h.goOn()
	}
	h.row.cells, h.row.own = 0, 0
	h.newline()
}

// raw adds a text as it is.
func (h *page) raw(s string) {
	if len(h.b) == 0 {
		h.first = h.line
	}
	h.last = h.line
	if h.m.Take(2 * len(s)) {
		h.b = append(h.b, s...)
	}
	h.size += len(s)
	h.space = false
}

func (h *page) newline() {
	if len(h.b) > 0 && h.m.Take(2) {
		h.b = append(h.b, '\n')
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
		if len(h.b) == 0 {
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
	if (h.space || s[0] <= ' ') && len(h.b) > 0 && h.b[len(h.b)-1] > ' ' {
		h.raw(" ")
	}
	joined := strings.Join(fields, " ")
	h.links.count(len(joined))
	if h.bold > 0 {
		h.inBold++
	} else {
		h.beside++
	}
	h.raw(joined)
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
	n := 2 * len(h.b)
	h.m.Take(n)
	text := tidyLines(string(h.b), k == Code)
	if k == Table {
		text = tidyRows(text)
	}
	if k == Heading {
		text = oneLine(text)
	}
	h.m.Give(2 * n)
	if k == Text && h.inBold > 0 && h.beside == 0 && document.Titled(text) {
		k, h.level = Heading, document.BoldLevel
	}
	h.bold, h.inBold, h.beside = 0, 0, 0
	left := !h.hasMain && (k == Text || k == Table) && h.links.menu(len(h.d.Blocks), h.m)
	if h.links.next(); text != "" && !left && h.m.Take(len(text)) {
		h.add(&h.d, Block{Kind: k, Level: h.level, Text: text, Header: h.header, Lines: retrieve.Lines{From: h.first, To: max(h.first, h.last)}})
	}
	h.b = h.b[:0]
	if h.level, h.pre, h.rows, h.header, h.space, h.anchor = 0, false, 0, 0, false, -1; k == Table {
		h.row = tableRow{}
	}
}

// tidyRows removes empty cells at the ends of rows.
func tidyRows(text string) string {
	if !strings.Contains(text, "|") {
		return text
	}
	var b strings.Builder
	for line := range strings.SplitSeq(text, "\n") {
		if line = strings.TrimRight(line, " |"); line != "" {
			if b.Len() > 0 {
				b.WriteByte('\n')
			}
			b.WriteString(line)
		}
	}
	return b.String()
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
func (h *page) meta(z *html.Tokenizer, more bool) {
	name, content := "", ""
	for more {
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
		h.d.Value("date", content)
	case "author", "description":
		h.d.Value(strings.ToLower(name), content)
	}
}
