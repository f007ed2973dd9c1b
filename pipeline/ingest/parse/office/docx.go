package office

import (
	"encoding/xml"
	"strconv"
	"strings"

	"github.com/anchor-host/anchor-host/pipeline/ingest/parse/document"
)

// DOCX reads a document of Word: its text with what is in boxes, the numbers of its lists, notes and
// comments after the paragraph that refers to them, and tables whose merged cells have their value in
// each row. Insertions are in, deletions are not.
func DOCX(j *document.Job, data []byte) (document.Document, error) {
	var d document.Document
	c, err := Open(j, data)
	if err != nil {
		return d, err
	}
	main := "word/document.xml"
	if name := c.relations("document").byType["officeDocument"]; c.Has(name) {
		main = name
	}
	c.optional("docProps/core.xml", &properties{d: &d})
	rel := c.relations(main)
	part := func(kind, usual string) string {
		if name := rel.byType[kind]; c.Has(name) {
			return name
		}
		return usual
	}
	w := &word{flow: flow{Job: j, d: &d}, numbers: newNumbering()}
	c.optional(part("numbering", "word/numbering.xml"), &numberingReader{n: w.numbers})
	styles := &styleReader{styles: map[string]*style{}}
	c.optional(part("styles", "word/styles.xml"), styles)
	w.styles = styles.styles
	for i, kind := range []string{"footnotes", "endnotes", "comments"} {
		n := &noteReader{Job: j, notes: map[string]string{}}
		c.optional(part(kind, "word/"+kind+".xml"), n)
		w.notesOf[i] = n.notes
	}
	if err := c.read(main, w); err != nil {
		return d, err
	}
	return d, w.finish()
}

// word collects the paragraphs and tables of a Word document.
type word struct {
	flow
	styles  map[string]*style
	numbers *numbering
	notesOf [3]map[string]string
	noted   int

	inText  bool // inside an element whose characters are text
	inProps bool // inside the properties of a paragraph
	numID   string
	numAt   int
	numSet  bool
	bold    bool // the open run is
	inBold  int  // the texts of the paragraph that are bold, and those beside them
	beside  int
}

func (w *word) start(t *xml.StartElement) {
	if w.leave() {
		return
	}
	switch t.Name.Local {
	case "Fallback", "moveFrom", "del": // what Choice has too, and what is deleted
		w.skip = 1
	case "t":
		w.inText = true
	case "tab":
		if !w.inProps {
			w.write("\t")
		}
	case "br", "cr":
		w.write("\n")
	case "noBreakHyphen":
		w.write("-")
	case "docPr":
		if text := attr(t, "descr"); text != "" {
			w.write(" [" + oneLine(text) + "] ")
		}
	case "txbxContent":
		w.push()
	case "footnoteReference", "endnoteReference", "commentReference":
		w.refer(t)
	default:
		w.startTable(t)
		w.startProperty(t)
	}
}

func (w *word) startTable(t *xml.StartElement) {
	switch t.Name.Local {
	case "tbl":
		w.beginTable()
	case "tr":
		w.beginRow()
	case "tc":
		w.beginCell(1, 0, false)
	case "gridSpan":
		if n, err := strconv.Atoi(attr(t, "val")); err == nil && w.table() != nil {
			w.table().cell.span = min(max(n, 1), maxColumns)
		}
	case "vMerge":
		if table := w.table(); table != nil {
			table.cell.rows, table.cell.same = -1, attr(t, "val") != "restart"
		}
	}
}

func (w *word) startProperty(t *xml.StartElement) {
	switch t.Name.Local {
	case "r":
		w.bold = false
	case "b":
		v := attr(t, "val")
		w.bold = !w.inProps && v != "0" && v != "false"
	case "pPr":
		w.inProps = true
	case "numId":
		w.numID, w.numSet = attr(t, "val"), true
	case "ilvl":
		w.numAt, _ = strconv.Atoi(attr(t, "val")) // 0 if it is none
	case "pStyle":
		w.style(attr(t, "val"))
	case "outlineLvl":
		w.outline(attr(t, "val"))
	}
}

func (w *word) outline(v string) {
	if n, err := strconv.Atoi(v); err == nil && n >= 0 && n < 9 && w.inProps {
		w.level = n + 1
	}
}

// style takes what a style says. Its own name may be of any language, the one in the styles is not.
func (w *word) style(id string) {
	s := w.styles[id]
	if s == nil {
		s = &style{name: id}
	}
	for n := 0; s != nil && n < 16; n++ {
		if w.level == 0 {
			w.level = s.heading()
		}
		w.list = w.list || strings.HasPrefix(strings.ToLower(s.name), "list")
		if !w.numSet && s.numID != "" {
			w.numID, w.numAt, w.numSet = s.numID, s.numAt, true
		}
		s = w.styles[s.base]
	}
}

// refer takes a reference to a note or a comment.
func (w *word) refer(t *xml.StartElement) {
	kind := map[string]int{"footnoteReference": 0, "endnoteReference": 1, "commentReference": 2}[t.Name.Local]
	text := w.notesOf[kind][attr(t, "id")]
	if text == "" {
		return
	}
	if kind == 2 {
		w.note("", "Comment: "+text)
		return
	}
	w.noted++
	w.note("["+strconv.Itoa(w.noted)+"]", text)
}

func (w *word) end(name string) {
	if w.left() {
		return
	}
	switch name {
	case "t":
		w.inText = false
	case "pPr":
		w.inProps = false
	case "p":
		w.endParagraph()
	case "txbxContent":
		w.pop()
	case "tc":
		w.endCell()
	case "tr":
		w.endRow()
	case "tbl":
		w.endTable()
	}
}

func (w *word) text(s string) {
	if w.inText && w.skip == 0 {
		switch {
		case strings.TrimSpace(s) == "":
		case w.bold:
			w.inBold++
		default:
			w.beside++
		}
		w.write(s)
	}
}

func (w *word) endParagraph() {
	if w.numSet && w.numID != "0" && strings.TrimSpace(w.b.String()) != "" {
		w.label = w.numbers.next(w.numID, w.numAt)
		w.list = true
	} else if w.list {
		w.label = "-"
	}
	if bold := w.inBold > 0 && w.beside == 0; bold && w.level == 0 && !w.list && w.table() == nil && len(w.notes) == 0 && document.Titled(w.b.String()) {
		w.level = document.BoldLevel
	}
	w.inBold, w.beside = 0, 0
	if w.level > 0 && (w.label == "-" || !w.numSet) {
		w.label = ""
	}
	w.numID, w.numAt, w.numSet = "", 0, false
	w.paragraph()
}

// style is a style of paragraphs.
type style struct {
	name, base, numID string
	numAt, outline    int
}

// heading returns the level of a heading, or 0.
func (s *style) heading() int {
	name := strings.ToLower(strings.TrimSpace(s.name))
	if name == "title" {
		return 1
	}
	if rest, ok := strings.CutPrefix(name, "heading"); ok {
		if n, err := strconv.Atoi(strings.TrimSpace(rest)); err == nil && n > 0 && n < 10 {
			return n
		}
	}
	return s.outline
}

// maxNames bounds the styles, the lists and the notes of a document.
const maxNames = 100_000

type styleReader struct {
	styles map[string]*style
	open   *style
}

func (r *styleReader) start(t *xml.StartElement) {
	v := attr(t, "val")
	switch name := t.Name.Local; {
	case name == "style" && len(r.styles) < maxNames:
		r.open = &style{}
		r.styles[strings.Clone(attr(t, "styleId"))] = r.open
	case r.open == nil:
	case name == "name":
		r.open.name = strings.Clone(v)
	case name == "basedOn":
		r.open.base = strings.Clone(v)
	case name == "numId":
		r.open.numID = strings.Clone(v)
	case name == "ilvl":
		r.open.numAt, _ = strconv.Atoi(v)
	case name == "outlineLvl":
		if n, err := strconv.Atoi(v); err == nil && n >= 0 && n < 9 {
			r.open.outline = n + 1
		}
	}
}

func (r *styleReader) end(name string) {
	if name == "style" {
		r.open = nil
	}
}
func (r *styleReader) text(string) {}

// noteReader reads the notes or the comments of a document.
type noteReader struct {
	*document.Job
	notes  map[string]string
	id     string
	b      strings.Builder
	inText bool
}

func (r *noteReader) start(t *xml.StartElement) {
	switch t.Name.Local {
	case "footnote", "endnote", "comment":
		r.id = strings.Clone(attr(t, "id"))
		r.b.Reset()
		if who := attr(t, "author"); who != "" {
			r.b.WriteString(oneLine(who) + ": ")
		}
	case "t":
		r.inText = true
	case "tab", "br", "p":
		r.b.WriteByte(' ')
	}
}

func (r *noteReader) end(name string) {
	switch name {
	case "t":
		r.inText = false
	case "footnote", "endnote", "comment":
		if text := oneLine(r.b.String()); text != "" && len(r.notes) < maxNames && r.Meter.Take(256+len(text)) {
			r.notes[r.id] = text
		}
		r.Meter.Give(4 * r.b.Len())
		r.b.Reset()
	}
}

func (r *noteReader) text(s string) {
	if r.inText && r.Meter.Take(4*len(s)) {
		r.b.WriteString(s)
	}
}
