package parse

import (
	"archive/zip"
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/anchor-host/anchor-host/pipeline/ingest/meter"
)

// docx reads the main part of a Word document. The parts of the container are read as they unfold.
func (j *job) docx(data []byte) (Document, error) {
	var d Document
	if bytes.HasPrefix(data, []byte{0xD0, 0xCF, 0x11, 0xE0}) {
		return d, ErrEncrypted // Office keeps encrypted documents in its old container
	}
	const entry = 512 // memory of an entry of the list of parts
	if !j.m.Take(entry*bytes.Count(data, []byte("PK\x01\x02"))) || !j.m.Work(len(data)) {
		return d, j.m.Err()
	}
	z, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return d, fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	_ = j.part(z, "docProps/core.xml", func(x *tokens) error { return coreProperties(x, &d) }) // not all have it
	w := word{job: j, d: &d}
	if err := j.part(z, "word/document.xml", w.read); err != nil {
		return d, err
	}
	if len(d.Blocks) == 0 {
		return d, ErrNoText
	}
	if d.Title == "" && d.Blocks[0].Kind == Heading {
		d.Title = d.Blocks[0].Text
	}
	return d, nil
}

// part reads a part of the container.
func (j *job) part(z *zip.Reader, name string, read func(*tokens) error) error {
	for _, f := range z.File {
		if f.Name != name {
			continue
		}
		if f.Flags&1 != 0 {
			return ErrEncrypted
		}
		r, err := f.Open()
		if err != nil {
			return fmt.Errorf("%w: %s: %w", ErrDamaged, name, err)
		}
		defer r.Close()
		return read(newTokens(j.m, r, name))
	}
	return fmt.Errorf("%w: no part %s", ErrDamaged, name)
}

// tokens are those of an XML document. The memory of each is drawn as its bytes are read, because the
// decoder gives a token only when it has all of it.
type tokens struct {
	*xml.Decoder
	m    *meter.Meter
	from io.Reader
	name string
	held int
}

func newTokens(m *meter.Meter, r io.Reader, name string) *tokens {
	t := &tokens{m: m, from: r, name: name}
	t.Decoder = xml.NewDecoder(t)
	return t
}

func (t *tokens) Read(p []byte) (int, error) {
	n, err := t.from.Read(p)
	const attribute = 128
	held := 3*n + attribute*bytes.Count(p[:n], []byte("="))
	t.held += held
	if !t.m.Take(held) || !t.m.Work(12*n) {
		return 0, t.m.Err()
	}
	return n, err
}

// next returns the next token, which is valid until the next call.
func (t *tokens) next() (xml.Token, error) {
	t.m.Give(t.held)
	t.held = 0
	x, err := t.RawToken()
	switch {
	case t.m.Err() != nil:
		return nil, t.m.Err()
	case err != nil && !errors.Is(err, io.EOF):
		return nil, fmt.Errorf("%w: %s: %w", ErrDamaged, t.name, err)
	}
	return x, err
}

// coreProperties reads the title, the author and the date.
func coreProperties(x *tokens, d *Document) error {
	name := ""
	for {
		t, err := x.next()
		if err != nil {
			return err
		}
		switch t := t.(type) {
		case xml.StartElement:
			name = t.Name.Local
		case xml.EndElement:
			name = ""
		case xml.CharData:
			switch name {
			case "title":
				d.value("title", strings.TrimSpace(string(t)))
			case "creator":
				d.value("author", strings.TrimSpace(string(t)))
			case "modified":
				d.value("date", strings.TrimSpace(string(t)))
			}
		}
	}
}

// maxXMLDepth bounds the elements around an element. Real documents have some dozens.
const maxXMLDepth = 512

// word collects the paragraphs and tables of a Word document.
type word struct {
	*job
	d      *Document
	b      strings.Builder // the open paragraph
	table  strings.Builder
	size   int
	depth  int
	tables int
	cells  int
	level  int
	list   bool
	text   bool // inside an element whose characters are text
}

func (w *word) read(x *tokens) error {
	for {
		t, err := x.next()
		if errors.Is(err, io.EOF) && w.depth == 0 {
			return nil
		}
		if errors.Is(err, io.EOF) {
			return fmt.Errorf("%w: %s ends too soon", ErrDamaged, x.name)
		}
		if err != nil {
			return err
		}
		switch t := t.(type) {
		case xml.StartElement:
			if w.depth++; w.depth > maxXMLDepth {
				return fmt.Errorf("%w: %s: more than %d elements inside each other", ErrDamaged, x.name, maxXMLDepth)
			}
			w.start(t)
		case xml.EndElement:
			w.depth--
			w.end(t.Name.Local)
		case xml.CharData:
			if w.text {
				w.write(&w.b, string(t))
				w.size += len(t)
			}
		}
		if w.size > w.limits.Text {
			return fmt.Errorf("%w: more than %d bytes of text", ErrTooLarge, w.limits.Text)
		}
	}
}

// write adds to the open paragraph or table.
func (w *word) write(b *strings.Builder, s string) {
	if w.m.Take(4 * len(s)) {
		b.WriteString(s)
	}
}

// reset empties the open paragraph or table.
func (w *word) reset(b *strings.Builder) {
	w.m.Give(4 * b.Len())
	b.Reset()
}

// block ends a block, whose text is memory of its own.
func (w *word) block(b Block) {
	if w.m.Take(len(b.Text)) {
		w.add(w.d, b)
	}
}

func (w *word) start(t xml.StartElement) {
	switch t.Name.Local {
	case "t":
		w.text = true
	case "tab":
		w.write(&w.b, "\t")
	case "br", "cr":
		w.write(&w.b, "\n")
	case "tbl":
		w.tables++
	case "tr":
		if w.tables == 1 {
			w.cells = 0
		}
	case "tc":
		if w.tables == 1 {
			if w.cells > 0 {
				w.write(&w.table, " | ")
			}
			w.cells++
		}
	case "numPr":
		w.list = true
	case "pStyle", "outlineLvl":
		w.style(t)
	}
}

func (w *word) style(t xml.StartElement) {
	for _, a := range t.Attr {
		if a.Name.Local != "val" {
			continue
		}
		v := strings.ToLower(a.Value)
		if t.Name.Local == "outlineLvl" {
			if n, err := strconv.Atoi(v); err == nil && n >= 0 && n < 9 {
				w.level = n + 1
			}
			return
		}
		switch {
		case v == "title":
			w.level = 1
		case strings.HasPrefix(v, "heading"):
			if n, err := strconv.Atoi(strings.TrimSpace(v[len("heading"):])); err == nil && n > 0 && n < 10 {
				w.level = n
			}
		case strings.HasPrefix(v, "list"):
			w.list = true
		}
	}
}

func (w *word) end(name string) {
	switch name {
	case "t":
		w.text = false
	case "p":
		w.paragraph()
	case "tr":
		if w.tables == 1 {
			w.write(&w.table, "\n")
		}
	case "tbl":
		if w.tables--; w.tables == 0 {
			if text := tidyLines(w.table.String(), false); text != "" {
				w.block(Block{Kind: Table, Text: text, Header: 1})
			}
			w.reset(&w.table)
		}
	}
}

func (w *word) paragraph() {
	text := strings.TrimSpace(w.b.String())
	w.reset(&w.b)
	level, list := w.level, w.list
	w.level, w.list = 0, false
	switch {
	case text == "":
	case w.tables > 0:
		if t := w.table.String(); t != "" && !strings.HasSuffix(t, "\n") && !strings.HasSuffix(t, " | ") {
			w.write(&w.table, " ")
		}
		w.write(&w.table, oneLine(text))
	case level > 0:
		w.block(Block{Kind: Heading, Level: level, Text: oneLine(text)})
	case list:
		w.item("- " + text)
	default:
		w.block(Block{Text: text})
	}
}

// item adds to the list before it, so that a list is one block.
func (w *word) item(text string) {
	if n := len(w.d.Blocks); n > 0 {
		if b := &w.d.Blocks[n-1]; b.Kind == Text && strings.HasPrefix(b.Text, "- ") && len(b.Text) < 4096 && w.m.Take(len(text)) {
			w.m.Work(len(b.Text) / 4) // it is copied
			b.Text += "\n" + text
			return
		}
	}
	w.block(Block{Text: text})
}
