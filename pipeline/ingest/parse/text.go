package parse

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"golang.org/x/text/encoding/charmap"

	"github.com/anchor-host/anchor-host/pipeline/retrieve"
)

// decodeText returns a text as UTF-8 with \n as the end of lines. Text that is neither UTF-8 nor
// UTF-16 with a mark is taken as Windows-1252, which Latin-1 is a part of.
func (j *job) decodeText(data []byte) (text string, err error) {
	copies := len(data) // at the same time
	switch {
	case bytes.HasPrefix(data, []byte{0xFF, 0xFE}), bytes.HasPrefix(data, []byte{0xFE, 0xFF}):
		copies *= 5
	case !utf8.Valid(data):
		copies *= 7
	case bytes.IndexByte(data, '\r') >= 0:
		copies *= 3
	}
	if !j.m.Take(copies) || !j.m.Work(2*len(data)) {
		return "", j.m.Err()
	}
	defer func() { j.m.Give(copies - len(text)) }()
	switch {
	case bytes.HasPrefix(data, []byte{0xEF, 0xBB, 0xBF}):
		text = string(data[3:])
	case bytes.HasPrefix(data, []byte{0xFF, 0xFE}):
		text = decodeUTF16(data[2:], binary.LittleEndian)
	case bytes.HasPrefix(data, []byte{0xFE, 0xFF}):
		text = decodeUTF16(data[2:], binary.BigEndian)
	default:
		text = string(data)
	}
	if isBinary(text) {
		return "", ErrBinary
	}
	if !utf8.ValidString(text) {
		decoded, err := charmap.Windows1252.NewDecoder().String(text)
		if err != nil {
			return "", fmt.Errorf("%w: %w", ErrBinary, err)
		}
		text = decoded
	}
	if strings.IndexByte(text, '\r') >= 0 {
		text = strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\r", "\n")
	}
	return text, nil
}

func decodeUTF16(data []byte, order binary.ByteOrder) string {
	units := make([]uint16, len(data)/2)
	for i := range units {
		units[i] = order.Uint16(data[2*i:])
	}
	return string(utf16.Decode(units))
}

// isBinary judges the first 64 KiB, and looks for zero bytes in all.
func isBinary(text string) bool {
	if strings.IndexByte(text, 0) >= 0 {
		return true
	}
	head := text[:min(len(text), 64<<10)]
	control := 0
	for i := range len(head) {
		if c := head[i]; c < 0x20 && c != '\n' && c != '\r' && c != '\t' && c != '\f' && c != 0x1b {
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
	if i := strings.IndexByte(l.text[start:], '\n'); i >= 0 {
		line, l.pos = l.text[start:start+i], start+i+1
	} else {
		line, l.pos = l.text[start:], len(l.text)
	}
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
