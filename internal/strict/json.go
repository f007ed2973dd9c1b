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
// Invalid UTF-8 is repaired.
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
	passed := p.data[p.off:next]
	p.off = next
	if last := bytes.LastIndexByte(passed, '\n'); last >= 0 {
		p.at.Line += int32(bytes.Count(passed, []byte{'\n'}))
		p.at.Column, passed = 1, passed[last+1:]
	}
	p.at.Column += int32(utf8.RuneCount(passed))
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
		n.Kind, n.Text = String, unquote(p.data[from:p.dec.InputOffset()])
	}
	return nil
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
		if _, err := p.dec.ReadToken(); err != nil {
			return err
		}
		if p.data[from] != '"' { // the map has ended, which valid JSON does not before it
			return errors.New("not valid JSON")
		}
		e.Key = unquote(p.data[from:p.dec.InputOffset()])
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

// unquote returns the text of a valid JSON string. Each byte that is not UTF-8 becomes U+FFFD. The
// text is allocated once, in its size.
func unquote(quoted []byte) string {
	valid := utf8.Valid(quoted)
	if valid && bytes.IndexByte(quoted, '\\') < 0 {
		return string(quoted[1 : len(quoted)-1])
	}
	size := len(quoted)
	for rest := quoted; !valid && len(rest) > 0; {
		r, n := utf8.DecodeRune(rest)
		if rest = rest[n:]; r == utf8.RuneError && n == 1 {
			size += len("\uFFFD") - 1
		}
	}
	text, _ := jsontext.AppendUnquote(make([]byte, 0, size), quoted) // an error is of what was repaired
	if len(text) < size/2 {
		return string(text)
	}
	return unsafe.String(unsafe.SliceData(text), len(text)) // nothing else has it
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
