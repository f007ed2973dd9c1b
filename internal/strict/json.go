package strict

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
	"unsafe"

	"github.com/go-json-experiment/json/jsontext"
)

// ParseJSON reads one JSON document. file appears in errors. Data after the document is refused.
// A text with some bytes that are not UTF-8 is repaired; one with more than [MaxRepaired] is refused.
func ParseJSON(file string, data []byte) (*Node, error) {
	return ParseJSONContext(context.Background(), file, data, Limits{MaxValues, severalFiles})
}

// ParseJSONContext is [ParseJSON] within limits; more values are an [ErrTooMany], before
// anything is allocated for them. It ends with the error of ctx. The nodes refer to data, which must
// not change.
func ParseJSONContext(ctx context.Context, file string, data []byte, l Limits) (*Node, error) {
	s, err := shapeOf(ctx, data, l.Values)
	if err != nil {
		return nil, err
	}
	if s.values > l.Values {
		return nil, &tooMany{file, l}
	}
	if err := held(ctx, s.values); err != nil {
		return nil, err
	}
	dec := jsontext.NewDecoder(bytes.NewBuffer(data), jsontext.AllowInvalidUTF8(true),
		jsontext.AllowDuplicateNames(true)) // [Decode] reports them with both places
	p := &jsonParser{
		ctx: ctx, file: file, data: data, dec: dec, at: Pos{1, 1}, children: s.children,
		items: make([]Node, s.values-1-s.members), entries: make([]Entry, s.members), inner: make([]inside, len(s.children)),
	}
	n := &Node{}
	if err := p.value(n, 0); err != nil {
		return nil, p.problem(err)
	}
	p.advance()
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if _, err := dec.ReadToken(); !errors.Is(err, io.EOF) {
		return nil, Problems{{File: file, Pos: p.at, Message: "more data follows the document (send one document)"}}
	}
	return n, nil
}

// Valid reports whether data is one JSON value. It reports true if ctx ends before that is known.
func Valid(ctx context.Context, data []byte) bool {
	dec := jsontext.NewDecoder(bytes.NewBuffer(data), jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true))
	for n, whole := 1, false; ; n++ {
		if n%lookEvery == 0 && ctx.Err() != nil {
			return true
		}
		if whole && dec.PeekKind() != 0 {
			return false
		}
		if _, err := dec.ReadToken(); err != nil {
			return whole && errors.Is(err, io.EOF)
		}
		whole = dec.StackDepth() == 0
	}
}

// jsonParser turns the tokens of a document into nodes. It computes positions incrementally, so
// that a document on one long line is not slower than others.
type jsonParser struct {
	ctx   context.Context
	file  string
	data  []byte
	dec   *jsontext.Decoder
	off   int // the byte offset of the position at
	at    Pos
	count int // of values
	// children has the number of children of each list and map that follows and has any. The
	// nodes of all are allocated: what is left of them is items, entries and inner.
	children []uint32
	items    []Node
	entries  []Entry
	inner    []inside
}

// advance moves the position to the start of the next token.
func (p *jsonParser) advance() {
	next := int(p.dec.InputOffset())
	for next < len(p.data) {
		switch p.data[next] {
		case ' ', '\t', '\r', '\n', ',', ':':
			next++
			continue
		}
		break
	}
	p.moveTo(next)
}

func (p *jsonParser) moveTo(next int) {
	if next = min(next, len(p.data)); next <= p.off {
		return
	}
	if next-p.off > lookBytes && p.ctx.Err() != nil {
		return // the error will be that of ctx, which has no place
	}
	passed := p.data[p.off:next]
	p.off = next
	if last := bytes.LastIndexByte(passed, '\n'); last >= 0 {
		p.at.Line += int32(bytes.Count(passed, []byte{'\n'}))
		p.at.Column, passed = 1, passed[last+1:]
	}
	p.at.Column += int32(utf8.RuneCountInString(unsafe.String(unsafe.SliceData(passed), len(passed)))) // RuneCount copies
}

// value reads the next value into n.
func (p *jsonParser) value(n *Node, depth int) error {
	p.advance()
	if depth > maxDepth {
		return fmt.Errorf("nested deeper than %d levels", maxDepth)
	}
	if p.count++; p.count%lookEvery == 0 && p.ctx.Err() != nil {
		return p.ctx.Err()
	}
	n.Pos = p.at
	from := p.off
	token, err := p.dec.ReadToken()
	if err != nil {
		return err
	}
	switch token.Kind() {
	case '{', '[':
		return p.container(n, token.Kind(), from, depth)
	case 't':
		n.Kind, n.Text = Bool, "true"
	case 'f':
		n.Kind, n.Text = Bool, "false"
	case '0':
		n.Kind, n.Text = Int, string(p.data[from:p.dec.InputOffset()])
		if strings.ContainsAny(n.Text, ".eE") {
			n.Kind = Float
		}
	case '"':
		n.Kind = String
		n.Text, err = p.text(p.data[from:p.dec.InputOffset()])
	}
	return err
}

// container reads a list or a map, whose first token was read, into n.
func (p *jsonParser) container(n *Node, kind jsontext.Kind, from, depth int) error {
	end := kind + 2 // '}' and ']' are two after '{' and '['
	if n.Kind = List; kind == '{' {
		n.Kind = Map
	}
	if p.dec.PeekKind() != end && len(p.children) > 0 {
		n.inside = &p.inner[0]
		number := int(p.children[0])
		p.inner, p.children = p.inner[1:], p.children[1:]
		var err error
		if kind == '{' {
			number = min(number, len(p.entries))
			n.inside.entries, p.entries = p.entries[:number:number], p.entries[number:]
			err = p.object(n.inside.entries, depth)
		} else {
			number = min(number, len(p.items))
			n.inside.items, p.items = p.items[:number:number], p.items[number:]
			err = p.array(n.inside.items, depth)
		}
		if err != nil {
			return err
		}
	}
	token, err := p.dec.ReadToken()
	if err == nil && token.Kind() != end {
		err = errors.New("not valid JSON") // it was not counted, which valid JSON is
	}
	if err == nil && n.inside != nil {
		n.inside.raw = p.data[from:p.dec.InputOffset()]
	}
	return err
}

func (p *jsonParser) object(entries []Entry, depth int) error {
	for i := range entries {
		p.advance()
		e, from := &entries[i], p.off
		e.Pos = p.at
		_, err := p.dec.ReadToken()
		if err != nil {
			return err
		}
		if p.data[from] != '"' { // the map has ended, which valid JSON does not before it
			return errors.New("not valid JSON")
		}
		if e.Key, err = p.text(p.data[from:p.dec.InputOffset()]); err != nil {
			return err
		}
		if err := p.value(&e.Value, depth+1); err != nil {
			return err
		}
	}
	return nil
}

func (p *jsonParser) array(items []Node, depth int) error {
	for i := range items {
		if err := p.value(&items[i], depth+1); err != nil {
			return err
		}
	}
	return nil
}

// MaxRepaired is the largest number of bytes of a text that are not UTF-8. Each becomes U+FFFD, which
// takes three.
const MaxRepaired = 64 << 10

// errNotUTF8 is the problem of a text that is in another encoding, or no text.
var errNotUTF8 = fmt.Errorf("a text has more than %d bytes that are not UTF-8 (send it in UTF-8)", MaxRepaired)

// text returns the text of a valid JSON string. Each byte that is not UTF-8 becomes U+FFFD. The
// text is allocated once, in its size. A long one is read several times: ctx can end that.
func (p *jsonParser) text(quoted []byte) (string, error) {
	if len(quoted) > lookBytes && p.ctx.Err() != nil {
		return "", p.ctx.Err()
	}
	valid := utf8.Valid(quoted)
	escaped := bytes.IndexByte(quoted, '\\') >= 0
	if valid && !escaped {
		return string(quoted[1 : len(quoted)-1]), nil
	}
	size := len(quoted)
	if !valid {
		n := invalidBytes(quoted)
		if n > MaxRepaired {
			return "", errNotUTF8
		}
		if size += n * (len("\uFFFD") - 1); size > lookBytes && p.ctx.Err() != nil {
			return "", p.ctx.Err()
		}
	}
	text := make([]byte, 0, size)
	if escaped {
		text, _ = jsontext.AppendUnquote(text, quoted) // an error is of what was repaired
	} else {
		text = appendValid(text, quoted[1:len(quoted)-1])
	}
	if len(text) < size/2 {
		return string(text), nil
	}
	return unsafe.String(unsafe.SliceData(text), len(text)), nil // nothing else has it
}

// invalidBytes counts the bytes that are not UTF-8, up to one more than may be repaired.
func invalidBytes(text []byte) (n int) {
	for i := 0; i < len(text) && n <= MaxRepaired; {
		width, valid := runeAt(text[i:])
		if i += width; !valid {
			n++
		}
	}
	return n
}

// appendValid appends a text with U+FFFD for each byte that is not UTF-8.
func appendValid(dst, text []byte) []byte {
	from := 0
	for i := 0; i < len(text); {
		width, valid := runeAt(text[i:])
		if !valid {
			if from < i {
				dst = append(dst, text[from:i]...)
			}
			dst = append(dst, 0xEF, 0xBF, 0xBD) // U+FFFD
			from = i + 1
		}
		i += width
	}
	return append(dst, text[from:]...)
}

// runeAt returns the width of the first character, and whether it is UTF-8. It is faster than
// utf8.DecodeRune for bytes that never begin one, which may be millions.
func runeAt(text []byte) (width int, valid bool) {
	switch c := text[0]; {
	case c < utf8.RuneSelf:
		return 1, true
	case c < 0xC2 || c > 0xF4:
		return 1, false
	}
	r, width := utf8.DecodeRune(text)
	return width, r != utf8.RuneError || width > 1
}

// problem places a syntax error.
func (p *jsonParser) problem(err error) error {
	if p.ctx.Err() != nil && errors.Is(err, p.ctx.Err()) {
		return err
	}
	message := err.Error()
	var syntax *jsontext.SyntacticError
	switch {
	case errors.Is(err, io.EOF) && len(bytes.TrimSpace(p.data)) == 0:
		message = "the document is empty (want a JSON object)"
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		p.moveTo(len(p.data))
		message = "the document ends in the middle of a value"
	case errors.As(err, &syntax):
		p.moveTo(int(syntax.ByteOffset))
		message = "not valid JSON: " + syntax.Err.Error()
	}
	return Problems{{File: p.file, Pos: p.at, Message: message}}
}
