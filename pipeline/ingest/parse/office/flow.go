package office

import (
	"fmt"
	"strings"

	"github.com/anchor-host/anchor-host/pipeline/ingest/parse/document"
)

// flow makes blocks of paragraphs and tables, as a document has them one after another.
type flow struct {
	*document.Job
	d      *document.Document
	b      strings.Builder // the open paragraph
	label  string          // its mark in a list
	level  int             // of a heading
	list   bool
	inList bool     // the last block is a list
	notes  []string // those that the open paragraph refers to
	later  []string // those of a table, for after it
	saved  []saved  // the paragraphs around a text box or a note
	tables []*table
	size   int
	page   int
	skip   int // elements inside one that is left out, which counts too
	full   error
}

// leave reports whether an element begins inside one that is left out.
func (f *flow) leave() bool {
	if f.skip > 0 {
		f.skip++
		return true
	}
	return false
}

// left reports whether an element ends that is left out, or is inside of one.
func (f *flow) left() bool {
	if f.skip > 0 {
		f.skip--
		return true
	}
	return false
}

type saved struct {
	text, label string
	level       int
	list        bool
	tables      []*table
}

// table is an open table, of which only the open row is kept.
type table struct {
	b     strings.Builder
	row   []cell
	above map[int]string // the values of cells that go on in the next rows
	left  map[int]int    // for how many rows, -1 until it is said
	open  bool           // a cell is open
	cell  cell
	text  strings.Builder // of the open cell
	rows  int
}

type cell struct {
	text string
	span int // columns
	rows int // how many rows it has; -1 means that the rows below say it
	same bool
}

// maxRepeated is the longest value, in bytes, that each of the columns of a cell gets.
const maxRepeated = 100

// maxColumns bounds the columns that a cell may span.
const maxColumns = 256

// write adds to the open paragraph.
func (f *flow) write(s string) {
	if f.size += len(s); f.size > f.Limits.Text {
		f.full = fmt.Errorf("%w: more than %d bytes of text", document.ErrTooLarge, f.Limits.Text)
		return
	}
	if f.Meter.Take(4 * len(s)) {
		f.b.WriteString(s)
	}
}

// err ends the reading of a part when there is too much text.
func (f *flow) err() error { return f.full }

// push begins a text of its own inside of a paragraph.
func (f *flow) push() {
	f.saved = append(f.saved, saved{f.b.String(), f.label, f.level, f.list, f.tables})
	f.b.Reset()
	f.label, f.level, f.list, f.tables = "", 0, false, nil
}

// pop goes on with the paragraph around it.
func (f *flow) pop() {
	if len(f.saved) == 0 {
		return
	}
	f.paragraph()
	for len(f.tables) > 0 {
		f.endTable()
	}
	s := f.saved[len(f.saved)-1]
	f.saved = f.saved[:len(f.saved)-1]
	f.b.Reset()
	f.b.WriteString(s.text)
	f.label, f.level, f.list, f.tables = s.label, s.level, s.list, s.tables
}

// note refers to a note, whose text comes after the paragraph.
func (f *flow) note(mark, text string) {
	if text = oneLine(text); text == "" {
		return
	}
	f.write(mark)
	if f.size += len(text); f.Meter.Take(2 * len(text)) {
		f.notes = append(f.notes, strings.TrimSpace(mark+" "+text))
	}
}

// paragraph ends the open paragraph.
func (f *flow) paragraph() {
	text := clean(strings.TrimSpace(f.b.String()))
	f.Meter.Give(4 * f.b.Len())
	f.b.Reset()
	label, level, list, notes := f.label, f.level, f.list, f.notes
	f.label, f.level, f.list, f.notes = "", 0, false, nil
	if text == "" && len(notes) == 0 {
		return
	}
	if label != "" {
		text = label + " " + text
	}
	switch {
	case len(f.tables) > 0:
		t := f.tables[len(f.tables)-1]
		if t.text.Len() > 0 {
			t.text.WriteByte(' ')
		}
		if f.Meter.Take(4 * len(text)) {
			t.text.WriteString(oneLine(text))
		}
		f.later = append(f.later, notes...)
		return
	case level > 0:
		f.block(document.Block{Kind: document.Heading, Level: level, Text: oneLine(text)})
		if len(notes) > 0 {
			f.block(document.Block{Text: strings.Join(notes, "\n")})
		}
	case list:
		f.item(strings.Join(append([]string{text}, notes...), "\n"))
		f.inList = true
		return
	default:
		f.block(document.Block{Text: strings.Join(append([]string{text}, notes...), "\n")})
	}
}

// block ends a block, whose text is memory of its own.
func (f *flow) block(b document.Block) {
	b.Page = f.page
	f.inList = false
	if b.Text != "" && f.Meter.Take(len(b.Text)) {
		f.Add(f.d, b)
	}
}

// item adds to the list before it, so that a list is one block.
func (f *flow) item(text string) {
	if n := len(f.d.Blocks); n > 0 && f.inList {
		if b := &f.d.Blocks[n-1]; b.Kind == document.Text && b.Page == f.page && len(b.Text) < 4096 && f.Meter.Take(len(text)) {
			f.Meter.Work(len(b.Text) / 4) // it is copied
			b.Text += "\n" + text
			return
		}
	}
	f.block(document.Block{Text: text})
}

func (f *flow) beginTable() {
	if len(f.tables) < maxDepth {
		f.tables = append(f.tables, &table{above: map[int]string{}, left: map[int]int{}})
	}
}

func (f *flow) beginRow() {
	if t := f.table(); t != nil {
		t.row = t.row[:0]
	}
}

// beginCell begins a cell, which may span columns. A cell with same goes on from the row above, and one
// of several rows goes on in those below.
func (f *flow) beginCell(span, rows int, same bool) {
	if t := f.table(); t != nil {
		t.open, t.cell = true, cell{span: min(max(span, 1), maxColumns), rows: rows, same: same}
	}
}

func (f *flow) endCell() {
	t := f.table()
	if t == nil || !t.open {
		return
	}
	f.paragraph()
	t.cell.text = strings.ReplaceAll(t.text.String(), "\n", " ")
	t.text.Reset()
	t.open = false
	if f.Meter.Take(64) {
		t.row = append(t.row, t.cell)
	}
}

// endRow writes the row, with the values of cells that began in rows above.
func (f *flow) endRow() {
	t := f.table()
	if t == nil {
		return
	}
	col, wrote := 0, false
	put := func(text string) {
		if col > 0 {
			f.cell(t, " | ")
		}
		f.cell(t, text)
		wrote = wrote || text != ""
		col++
	}
	for _, c := range t.row {
		if t.left[col] > 0 && !c.same { // the format leaves out cells that go on
			for n := col; t.left[n] > 0; n++ {
				t.left[n]--
				put(t.above[n])
			}
		}
		switch at := col; {
		case c.same && c.text == "":
			put(t.above[at])
		default:
			if put(c.text); c.rows != 0 {
				t.above[at] = c.text
			} else {
				delete(t.above, at)
			}
			if c.rows > 1 {
				t.left[at] = c.rows - 1
			}
		}
		value := c.text
		if c.same && value == "" {
			value = t.above[col-1]
		}
		if len(value) > maxRepeated || len(t.row) == 1 { // a cell over the whole row is a line of text
			value = ""
		}
		for n := 1; n < c.span; n++ {
			put(value)
		}
	}
	for n := col; t.left[n] > 0; n++ {
		t.left[n]--
		put(t.above[n])
	}
	if wrote {
		f.cell(t, "\n")
		t.rows++
	}
	t.row = t.row[:0]
}

// cell adds to a table. Values that are repeated count as text.
func (f *flow) cell(t *table, s string) {
	if f.size += len(s); f.size > f.Limits.Text {
		f.full = fmt.Errorf("%w: more than %d bytes of text", document.ErrTooLarge, f.Limits.Text)
	} else if f.Meter.Take(4*len(s)) && f.Meter.Work(len(s)) {
		t.b.WriteString(s)
	}
}

func (f *flow) table() *table {
	if n := len(f.tables); n > 0 {
		return f.tables[n-1]
	}
	return nil
}

// endTable ends a table. One inside of another is text of its cell.
func (f *flow) endTable() {
	t := f.table()
	if t == nil {
		return
	}
	f.endCell()
	f.endRow()
	f.tables = f.tables[:len(f.tables)-1]
	text := tidy(t.b.String())
	f.Meter.Give(3 * t.b.Len())
	if outer := f.table(); outer != nil {
		if outer.text.Len() > 0 {
			outer.text.WriteByte(' ')
		}
		outer.text.WriteString(strings.ReplaceAll(strings.ReplaceAll(text, " | ", ", "), "\n", "; "))
		return
	}
	if text != "" {
		f.block(document.Block{Kind: document.Table, Text: text, Header: 1})
	}
	for _, n := range f.later {
		f.block(document.Block{Text: n})
	}
	f.later = nil
}

// finish ends what is open, and returns an error if there is no text.
func (f *flow) finish() error {
	f.paragraph()
	for len(f.tables) > 0 {
		f.endTable()
	}
	if f.full != nil {
		return f.full
	}
	if len(f.d.Blocks) == 0 {
		return document.ErrNoText
	}
	if f.d.Title == "" && f.d.Blocks[0].Kind == document.Heading {
		f.d.Title = f.d.Blocks[0].Text
	}
	return nil
}

// clean leaves out soft hyphens.
func clean(s string) string { return strings.ReplaceAll(s, "\u00ad", "") }

// oneLine joins the words of a text with single spaces.
func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// tidy removes empty cells at the ends of lines, and blank lines.
func tidy(text string) string {
	var b strings.Builder
	for line := range strings.SplitSeq(text, "\n") {
		line = strings.TrimRight(line, " |")
		if strings.TrimSpace(line) == "" {
			continue
		}
		if b.Len() > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(strings.TrimLeft(line, " "))
	}
	return b.String()
}
