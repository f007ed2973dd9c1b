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
)

// docx reads the main part of a Word document. The parts of the container are counted as they
// unfold, whatever the container says about their size.
func (j *job) docx(data []byte) (Document, error) {
	var d Document
	if bytes.HasPrefix(data, []byte{0xD0, 0xCF, 0x11, 0xE0}) {
		return d, ErrEncrypted // Office keeps encrypted documents in its old container
	}
	z, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return d, fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	budget := int64(j.limits.Unfolded)
	if core, err := j.part(z, "docProps/core.xml", &budget); err == nil {
		j.coreProperties(core, &d)
	}
	body, err := j.part(z, "word/document.xml", &budget)
	if err != nil {
		return d, err
	}
	w := word{job: j, d: &d}
	if err := w.read(body); err != nil {
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

// part unfolds a part of the container.
func (j *job) part(z *zip.Reader, name string, budget *int64) ([]byte, error) {
	for _, f := range z.File {
		if f.Name != name {
			continue
		}
		if f.Flags&1 != 0 {
			return nil, ErrEncrypted
		}
		r, err := f.Open()
		if err != nil {
			return nil, fmt.Errorf("%w: %s: %w", ErrDamaged, name, err)
		}
		defer r.Close()
		data, err := io.ReadAll(io.LimitReader(r, *budget+1))
		if int64(len(data)) > *budget {
			return nil, fmt.Errorf("%w: %s unfolds to more than %d bytes", ErrTooLarge, name, *budget)
		}
		*budget -= int64(len(data))
		if err != nil {
			return nil, fmt.Errorf("%w: %s: %w", ErrDamaged, name, err)
		}
		return data, nil
	}
	return nil, fmt.Errorf("%w: no part %s", ErrDamaged, name)
}

func (j *job) coreProperties(data []byte, d *Document) {
	x := xml.NewDecoder(bytes.NewReader(data))
	name := ""
	for j.alive() == nil {
		t, err := x.Token()
		if err != nil {
			return
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

func (w *word) read(data []byte) error {
	x := xml.NewDecoder(bytes.NewReader(data))
	for {
		if err := w.alive(); err != nil {
			return err
		}
		t, err := x.RawToken()
		if errors.Is(err, io.EOF) && w.depth == 0 {
			return nil
		}
		if err != nil {
			return fmt.Errorf("%w: word/document.xml: %w", ErrDamaged, err)
		}
		switch t := t.(type) {
		case xml.StartElement:
			if w.depth++; w.depth > maxXMLDepth {
				return fmt.Errorf("%w: word/document.xml: more than %d elements inside each other", ErrDamaged, maxXMLDepth)
			}
			w.start(t)
		case xml.EndElement:
			w.depth--
			w.end(t.Name.Local)
		case xml.CharData:
			if w.text {
				w.b.Write(t)
				w.size += len(t)
			}
		}
		if w.size > w.limits.Text {
			return fmt.Errorf("%w: more than %d bytes of text", ErrTooLarge, w.limits.Text)
		}
	}
}

func (w *word) start(t xml.StartElement) {
	switch t.Name.Local {
	case "t":
		w.text = true
	case "tab":
		w.b.WriteByte('\t')
	case "br", "cr":
		w.b.WriteByte('\n')
	case "tbl":
		w.tables++
	case "tr":
		if w.tables == 1 {
			w.cells = 0
		}
	case "tc":
		if w.tables == 1 {
			if w.cells > 0 {
				w.table.WriteString(" | ")
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
			w.table.WriteByte('\n')
		}
	case "tbl":
		if w.tables--; w.tables == 0 {
			if text := tidyLines(w.table.String(), false); text != "" {
				w.d.Blocks = append(w.d.Blocks, Block{Kind: Table, Text: text, Header: 1})
			}
			w.table.Reset()
		}
	}
}

func (w *word) paragraph() {
	text := strings.TrimSpace(w.b.String())
	w.b.Reset()
	level, list := w.level, w.list
	w.level, w.list = 0, false
	switch {
	case text == "":
	case w.tables > 0:
		if t := w.table.String(); t != "" && !strings.HasSuffix(t, "\n") && !strings.HasSuffix(t, " | ") {
			w.table.WriteByte(' ')
		}
		w.table.WriteString(oneLine(text))
	case level > 0:
		w.d.Blocks = append(w.d.Blocks, Block{Kind: Heading, Level: level, Text: oneLine(text)})
	case list:
		w.item("- " + text)
	default:
		w.d.Blocks = append(w.d.Blocks, Block{Text: text})
	}
}

// item adds to the list before it, so that a list is one block.
func (w *word) item(text string) {
	if n := len(w.d.Blocks); n > 0 {
		if b := &w.d.Blocks[n-1]; b.Kind == Text && strings.HasPrefix(b.Text, "- ") && len(b.Text) < 4096 {
			b.Text += "\n" + text
			return
		}
	}
	w.d.Blocks = append(w.d.Blocks, Block{Text: text})
}
