package office

import (
	"encoding/xml"
	"strconv"
	"strings"

	"github.com/anchor-host/anchor-host/pipeline/ingest/parse/document"
)

// ODT reads a text of LibreOffice, and also its presentations and sheets: headings, lists, tables
// with merged cells, notes and comments.
func ODT(j *document.Job, data []byte) (document.Document, error) {
	var d document.Document
	c, err := Open(j, data)
	if err != nil {
		return d, err
	}
	c.optional("meta.xml", &properties{d: &d})
	locks := &encryption{}
	if c.optional("META-INF/manifest.xml", locks); locks.found {
		return d, document.ErrEncrypted
	}
	o := &odt{flow: flow{Job: j, d: &d}}
	if err := c.read("content.xml", o); err != nil {
		return d, err
	}
	return d, o.finish()
}

// encryption looks for the word that a part is encrypted.
type encryption struct{ found bool }

func (e *encryption) start(t *xml.StartElement) {
	e.found = e.found || t.Name.Local == "encryption-data"
}
func (e *encryption) end(string)  {}
func (e *encryption) text(string) {}

type odt struct {
	flow
	depth int // of paragraphs
	lists int
	item  bool   // the next paragraph begins an item
	mark  string // of the open note
	cites bool   // inside the mark
	outer []int
	first []int // how many blocks there were before each open note
}

func (o *odt) start(t *xml.StartElement) {
	if o.leave() {
		return
	}
	switch t.Name.Local {
	case "tracked-changes", "forms", "annotation-end", "table-of-content-source", "meta":
		o.skip = 1
	case "h":
		o.depth++
		o.level = 1
		if n, err := strconv.Atoi(attr(t, "outline-level")); err == nil && n > 0 && n < 10 {
			o.level = n
		}
	case "p":
		o.startParagraph()
	case "list":
		o.lists++
	case "list-item":
		o.item = true
	case "s":
		n, _ := strconv.Atoi(attr(t, "c")) // one if it says nothing
		o.write(strings.Repeat(" ", min(max(n, 1), 64)))
	case "tab":
		o.write("\t")
	case "line-break":
		o.write("\n")
	case "note-citation":
		o.cites = true
	case "note-body", "annotation", "text-box":
		o.outer, o.first = append(o.outer, o.depth), append(o.first, len(o.d.Blocks))
		o.depth = 0
		o.push()
	default:
		o.startTable(t)
	}
}

func (o *odt) startParagraph() {
	o.depth++
	if o.lists > 0 && o.table() == nil {
		if o.list = true; o.item {
			o.label = "-"
		}
		o.item = false
	}
}

func (o *odt) startTable(t *xml.StartElement) {
	number := func(name string) int {
		n, _ := strconv.Atoi(attr(t, name)) // 0 if it is none
		return n
	}
	switch t.Name.Local {
	case "table":
		o.beginTable()
	case "table-row":
		o.beginRow()
	case "table-cell":
		rows := 0
		if number("number-rows-spanned") > 1 {
			rows = -1
		}
		repeated := number("number-columns-repeated")
		if repeated > maxColumns/4 {
			repeated = 1 // the empty rest of a row
		}
		o.beginCell(repeated, rows, false)
	case "covered-table-cell":
		o.beginCell(number("number-columns-repeated"), -1, true)
	}
}

func (o *odt) end(name string) {
	if o.left() {
		return
	}
	switch name {
	case "h", "p":
		o.depth = max(o.depth-1, 0)
		o.paragraph()
	case "list":
		o.lists = max(o.lists-1, 0)
	case "note-citation":
		o.cites = false
	case "note-body", "annotation":
		o.endNote(name == "annotation")
	case "text-box":
		o.endBox()
		o.pop()
	case "table-cell", "covered-table-cell":
		o.endCell()
	case "table-row":
		o.endRow()
	case "table":
		o.endTable()
	}
}

// endBox returns how many blocks there were before a note or a box.
func (o *odt) endBox() (first int) {
	if n := len(o.outer); n > 0 {
		o.depth, first = o.outer[n-1], o.first[n-1]
		o.outer, o.first = o.outer[:n-1], o.first[:n-1]
	}
	return first
}

// endNote takes the blocks of a note from the document, and refers to them.
func (o *odt) endNote(comment bool) {
	first := o.endBox()
	o.paragraph()
	var parts []string
	for _, b := range o.d.Blocks[min(first, len(o.d.Blocks)):] {
		parts = append(parts, b.Text)
	}
	o.d.Blocks = o.d.Blocks[:min(first, len(o.d.Blocks))]
	mark, text := "["+strings.TrimSpace(o.mark)+"]", strings.Join(parts, " ")
	o.mark = ""
	o.pop()
	if comment {
		mark, text = "", "Comment: "+text
	}
	o.note(mark, text)
}

func (o *odt) text(s string) {
	switch {
	case o.skip > 0:
	case o.cites:
		if len(o.mark)+len(s) < 32 {
			o.mark += s
		}
	case o.depth > 0:
		if strings.ContainsAny(s, "\n\t") {
			s = strings.NewReplacer("\n", " ", "\t", " ").Replace(s)
		}
		o.write(s)
	}
}
