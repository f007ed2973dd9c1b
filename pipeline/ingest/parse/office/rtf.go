package office

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf16"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/japanese"
	"golang.org/x/text/encoding/korean"
	"golang.org/x/text/encoding/simplifiedchinese"
	"golang.org/x/text/encoding/traditionalchinese"

	"github.com/anchor-host/anchor-host/pipeline/ingest/parse/document"
)

// RTF reads a document in the Rich Text Format: its text with tables, notes and headings, in the charsets
// of its fonts. Pictures and objects are skipped without decoding.
func RTF(j *document.Job, data []byte) (document.Document, error) {
	var d document.Document
	if !bytes.HasPrefix(data, []byte(`{\rtf`)) {
		return d, fmt.Errorf(`%w: no {\rtf at its start`, document.ErrDamaged)
	}
	r := &rtf{flow: flow{Job: j, d: &d}, data: data, fonts: map[int]encoding.Encoding{}, styles: map[int]int{}, page: charmap.Windows1252}
	if err := r.read(); err != nil {
		return d, err
	}
	return d, r.finish()
}

type rtf struct {
	flow
	data    []byte
	pos     int
	state   rtfState
	stack   []rtfState
	fonts   map[int]encoding.Encoding
	styles  map[int]int // levels of headings by the number of the style
	page    encoding.Encoding
	bytes   []byte // of the charset, until they are decoded
	high    uint16 // the first half of a character
	skip    int    // what stands for a character for old readers
	name    strings.Builder
	inTable bool // the paragraph is in a table
	number  int  // of a font or a style that is defined
	noted   int
}

// rtfState is what a group inherits.
type rtfState struct {
	dest string // where text goes, "" for the document
	font int
	uc   int // how many bytes stand for a character
	mark bool
}

func (r *rtf) read() error {
	r.state.uc = 1
	for r.pos < len(r.data) {
		if !r.Meter.Work(24) {
			return r.Meter.Err()
		}
		if r.full != nil {
			return r.full
		}
		switch c := r.data[r.pos]; c {
		case '{':
			r.flush()
			if len(r.stack) >= maxDepth*2 {
				return fmt.Errorf("%w: more than %d groups inside each other", document.ErrDamaged, maxDepth*2)
			}
			r.stack = append(r.stack, r.state)
			r.pos++
		case '}':
			r.flush()
			r.pos++
			r.endGroup()
		case '\\':
			r.control()
		case '\r', '\n':
			r.pos++
		default:
			r.char(c)
			r.pos++
		}
	}
	r.flush()
	return r.Meter.Err()
}

func (r *rtf) endGroup() {
	if len(r.stack) == 0 {
		return
	}
	before := r.stack[len(r.stack)-1]
	r.stack = r.stack[:len(r.stack)-1]
	if before.dest != r.state.dest {
		text := oneLine(r.name.String())
		switch r.state.dest {
		case "stylesheet-style":
			s := style{name: strings.TrimSuffix(text, ";")}
			if len(r.styles) < maxNames {
				r.styles[r.number] = s.heading()
			}
		case "title", "author":
			r.d.Value(r.state.dest, text)
		case "footnote":
			r.noted++
			r.note("["+strconv.Itoa(r.noted)+"]", text)
		}
		r.name.Reset()
	}
	r.state = before
}

// char takes a byte of text.
func (r *rtf) char(c byte) {
	if r.skip > 0 {
		r.skip--
		return
	}
	if len(r.bytes) < 64<<10 {
		r.bytes = append(r.bytes, c)
		return
	}
	r.flush()
	r.bytes = append(r.bytes, c)
}

// flush decodes the bytes before a change of the font.
func (r *rtf) flush() {
	if len(r.bytes) == 0 {
		return
	}
	enc := r.fonts[r.state.font]
	if enc == nil {
		enc = r.page
	}
	out, err := enc.NewDecoder().Bytes(r.bytes)
	r.bytes = r.bytes[:0]
	if err == nil {
		r.put(string(out))
	}
}

// put takes a text to where the group sends it.
func (r *rtf) put(s string) {
	switch r.state.dest {
	case "":
		r.write(s)
	case "footnote", "title", "author", "stylesheet-style":
		if r.name.Len()+len(s) < 64<<10 {
			r.name.WriteString(s)
		}
	}
}

// control reads a control word or a control symbol.
func (r *rtf) control() {
	r.pos++
	if r.pos >= len(r.data) {
		return
	}
	c := r.data[r.pos]
	if c|0x20 < 'a' || c|0x20 > 'z' {
		r.pos++
		r.symbol(c)
		return
	}
	from := r.pos
	for r.pos < len(r.data) && r.pos-from < 32 && r.data[r.pos]|0x20 >= 'a' && r.data[r.pos]|0x20 <= 'z' {
		r.pos++
	}
	word := string(r.data[from:r.pos])
	from = r.pos
	if r.pos < len(r.data) && r.data[r.pos] == '-' {
		r.pos++
	}
	for r.pos < len(r.data) && r.pos-from < 11 && r.data[r.pos] >= '0' && r.data[r.pos] <= '9' {
		r.pos++
	}
	n, err := strconv.Atoi(string(r.data[from:r.pos]))
	has := err == nil
	if r.pos < len(r.data) && r.data[r.pos] == ' ' {
		r.pos++
	}
	if word == "bin" && n > 0 {
		r.pos = min(r.pos+n, len(r.data))
		return
	}
	if word == "u" {
		r.flush()
		r.unicode(uint16(n))
		return
	}
	r.flush()
	r.word(word, n, has)
}

func (r *rtf) symbol(c byte) {
	switch c {
	case '\'':
		if r.pos+2 <= len(r.data) {
			if b, err := strconv.ParseUint(string(r.data[r.pos:r.pos+2]), 16, 8); err == nil {
				r.char(byte(b))
			}
			r.pos += 2
		}
	case '*':
		r.flush()
		r.state.mark = r.pos > 2 && r.data[r.pos-3] == '{' // a destination that may be unknown
	case '\\', '{', '}':
		r.char(c)
	case '~':
		r.char(' ')
	case '_':
		r.char('-')
	case '\r', '\n':
		r.word("par", 0, false)
	}
}

// unicode takes a character of UTF-16.
func (r *rtf) unicode(u uint16) {
	r.skip = r.state.uc
	switch {
	case utf16.IsSurrogate(rune(u)) && u < 0xDC00:
		r.high = u
	case utf16.IsSurrogate(rune(u)):
		r.put(string(utf16.DecodeRune(rune(r.high), rune(u))))
	default:
		r.put(string(rune(u)))
	}
}

// word carries out a control word.
func (r *rtf) word(word string, n int, has bool) {
	r.skip = 0
	marked := r.state.mark
	r.state.mark = false
	if r.state.dest == "skip" || r.definition(word, n, marked) {
		return
	}
	switch word {
	case "par", "sect", "page":
		r.put(" ")
		if r.state.dest == "" {
			r.endParagraph()
		}
	case "line":
		r.put("\n")
	case "tab":
		r.put("\t")
	case "emdash":
		r.put("—")
	case "endash":
		r.put("–")
	case "bullet":
		r.put("•")
	case "lquote":
		r.put("‘")
	case "rquote":
		r.put("’")
	case "ldblquote":
		r.put("“")
	case "rdblquote":
		r.put("”")
	case "uc":
		r.state.uc = min(max(n, 0), 8)
	case "f":
		r.state.font = n
	case "ansicpg":
		if enc := codePage(n); enc != nil {
			r.page = enc
		}
	case "mac":
		r.page = charmap.Macintosh
	case "pard":
		r.level, r.inTable = 0, false
	case "intbl":
		r.inTable = true
	case "outlinelevel":
		if n >= 0 && n < 9 {
			r.level = n + 1
		}
	case "s":
		r.level = max(r.level, r.styles[n])
	case "cell", "nestcell":
		r.cellEnd()
	case "row", "nestrow":
		r.endRow()
	}
}

// definition carries out a word that says where text goes, or defines a font.
func (r *rtf) definition(word string, n int, marked bool) bool {
	switch word {
	case "fonttbl", "stylesheet", "title", "author", "footnote":
		r.state.dest = word
		r.name.Reset()
	case "info", "fldrslt", "shprslt", "listtext", "shptxt", "nesttableprops":
		if word == "nesttableprops" || marked && word == "shprslt" {
			r.state.dest = "skip"
		}
	case "colortbl", "pict", "object", "objdata", "fldinst", "header", "headerl", "headerr", "headerf", "footer", "footerl", "footerr", "footerf", "xe", "tc", "themedata",
		"private", "operator", "company", "generator", "subject", "keywords", "comment", "doccomm", "creatim", "revtim", "printim", "listtable", "nonesttables", "pntext":
		r.state.dest = "skip"
	case "fcharset":
		if r.state.dest == "fonttbl" && len(r.fonts) < maxNames {
			if enc := codePage(fontCharsets[n]); enc != nil {
				r.fonts[r.number] = enc
			}
		}
	case "f", "s":
		if r.state.dest != "fonttbl" && r.state.dest != "stylesheet" && r.state.dest != "stylesheet-style" {
			return false
		}
		if r.number = n; word == "s" {
			r.state.dest = "stylesheet-style"
			r.name.Reset()
		}
	default:
		if marked {
			r.state.dest = "skip"
		}
		return marked
	}
	return true
}

func (r *rtf) endParagraph() {
	if !r.inTable && len(r.tables) > 0 {
		for len(r.tables) > 0 {
			text := r.b.String()
			r.b.Reset()
			r.endTable()
			r.b.WriteString(text)
		}
	}
	if r.inTable {
		return // its cell ends it
	}
	level := r.level
	r.paragraph()
	r.level = level // until pard
}

// cellEnd ends a cell, and begins the table if this is its first.
func (r *rtf) cellEnd() {
	if len(r.tables) == 0 {
		r.beginTable()
	}
	r.level = 0
	r.beginCell(1, 0, false)
	r.endCell()
}

// fontCharsets are the code pages of the charsets of fonts.
var fontCharsets = map[int]int{
	0: 1252, 77: 10000, 128: 932, 129: 949, 134: 936, 136: 950, 161: 1253, 162: 1254, 163: 1258, 177: 1255, 178: 1256, 186: 1257, 204: 1251, 222: 874, 238: 1250,
}

// codePage returns a charset by its number on Windows, or nil.
func codePage(n int) encoding.Encoding {
	switch n {
	case 437:
		return charmap.CodePage437
	case 850:
		return charmap.CodePage850
	case 852:
		return charmap.CodePage852
	case 866:
		return charmap.CodePage866
	case 874:
		return charmap.Windows874
	case 932:
		return japanese.ShiftJIS
	case 936:
		return simplifiedchinese.GBK
	case 949:
		return korean.EUCKR
	case 950:
		return traditionalchinese.Big5
	case 10000:
		return charmap.Macintosh
	}
	if n >= 1250 && n <= 1258 {
		return []encoding.Encoding{
			charmap.Windows1250, charmap.Windows1251, charmap.Windows1252, charmap.Windows1253, charmap.Windows1254, charmap.Windows1255, charmap.Windows1256, charmap.Windows1257, charmap.Windows1258,
		}[n-1250]
	}
	return nil
}
