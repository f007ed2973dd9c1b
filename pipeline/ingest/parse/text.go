package parse

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"github.com/anchor-host/anchor-host/pipeline/ingest/parse/charset"
	"github.com/anchor-host/anchor-host/pipeline/ingest/parse/document"
	"github.com/anchor-host/anchor-host/pipeline/retrieve"
)

// guessWork is what a guess of a charset costs besides the bytes.
const guessWork = 4 << 20

// decodeText returns a text as UTF-8 with \n as the end of lines. The first declared charset counts
// that is one; empty ones are none.
func (j *job) decodeText(data []byte, declared ...string) (text string, err error) {
	copies, valid := 2*len(data), utf8.Valid(data) // copies at the same time
	if !valid || bytes.IndexByte(data, 0) >= 0 || bytes.IndexByte(data, '\x1b') >= 0 {
		copies *= 4
		j.m.Work(guessWork)
	} else if bytes.IndexByte(data, '\r') >= 0 {
		copies *= 2
	}
	if !j.m.Take(copies) || !j.m.Work(2*len(data)) {
		return "", j.m.Err()
	}
	defer func() { j.m.Give(copies - len(text)) }()
	if isBinary(data[:min(len(data), charset.Looked)]) && bytes.IndexByte(data, 0) < 0 {
		return "", ErrBinary
	}
	c := charset.Of(data, declared...)
	text = string(c.Decode(data[c.Mark:]))
	same := valid && c.Decoder() == nil && c.Mark == 0 // as what was judged already
	if !same && isBinary([]byte(text[:min(len(text), 64<<10)])) || strings.IndexByte(text, 0) >= 0 {
		return "", ErrBinary
	}
	text = strings.ReplaceAll(text, "\u00ad", "") // soft hyphens are no letters
	if doubt := c.Doubt(); doubt != "" {
		j.warnings = append(j.warnings, doubt)
	}
	if strings.IndexByte(text, '\r') >= 0 {
		text = strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\r", "\n")
	}
	return text, nil
}

// isBinary judges the beginning of a file.
func isBinary(head []byte) bool {
	control := 0
	for _, c := range head {
		if c == 0 {
			return true
		}
		if c < 0x20 && c != '\n' && c != '\r' && c != '\t' && c != '\f' && c != 0x1b {
			control++
		}
	}
	return control*50 > len(head)
}

// text cuts plain text into paragraphs.
func (j *job) text(text string) (Document, error) {
	var d Document
	l := lines{text: text}
	j.paragraphs(&l, &d)
	return d, nil
}

// code keeps the whole source as one block, which the chunkers cut.
func (j *job) code(text string) (Document, error) {
	d := Document{Code: true}
	if t := strings.TrimRight(text, "\n\t "); strings.TrimSpace(t) != "" {
		skipped := 0
		for strings.HasPrefix(t, "\n") {
			t = t[1:]
			skipped++
		}
		d.Blocks = []Block{{Kind: Code, Text: t, Exact: true, Lines: retrieve.Lines{From: skipped + 1, To: skipped + 1 + strings.Count(t, "\n")}}}
	}
	return d, nil
}

// lines goes through the lines of a text and knows their numbers.
type lines struct {
	text string
	pos  int // of the next line
	n    int // the number of the current line, from 1
}

// next returns the next line without its end, and its start in the text.
func (l *lines) next() (line string, start int, ok bool) {
	if l.pos >= len(l.text) {
		return "", l.pos, false
	}
	start = l.pos
	line, l.pos = document.Line(l.text, start)
	l.n++
	return line, start, true
}

func blank(line string) bool { return strings.TrimSpace(line) == "" }

func (j *job) paragraphs(l *lines, d *Document) {
	from, first, end := -1, 0, 0
	flush := func() {
		if from >= 0 {
			j.add(d, Block{Text: l.text[from:end], Exact: true, Lines: retrieve.Lines{From: first, To: first + strings.Count(l.text[from:end], "\n")}})
		}
		from = -1
	}
	for {
		line, start, ok := l.next()
		if !ok || !j.m.Work(8+2*len(line)) {
			flush()
			return
		}
		if blank(line) {
			flush()
			continue
		}
		if from < 0 {
			from, first = start, l.n
		}
		end = start + len(line)
	}
}
