package strict

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// ParseJSON reads one JSON document. file appears in errors. Data after the document is refused.
// Invalid UTF-8 is repaired.
func ParseJSON(file string, data []byte) (*Node, error) {
	dec := jsontext.NewDecoder(bytes.NewBuffer(data), jsontext.AllowInvalidUTF8(true),
		jsontext.AllowDuplicateNames(true)) // [Decode] reports them with both places
	p := &jsonParser{file: file, data: data, dec: dec, at: Pos{1, 1}}
	n, err := p.value(0)
	if err != nil {
		return nil, p.problem(err)
	}
	p.advance()
	if _, err := dec.ReadToken(); !errors.Is(err, io.EOF) {
		return nil, Problems{{File: file, Pos: p.at, Message: "more data follows the document (send one document)"}}
	}
	return n, nil
}

// jsonParser turns the tokens of a document into nodes. It computes positions incrementally, so
// that a document on one long line is not slower than others.
type jsonParser struct {
	file string
	data []byte
	dec  *jsontext.Decoder
	off  int // the byte offset of the position at
	at   Pos
}

// advance moves the position to the start of the next token.
func (p *jsonParser) advance() {
	next := int(p.dec.InputOffset())
	for next < len(p.data) && bytes.IndexByte([]byte(" \t\r\n,:"), p.data[next]) >= 0 {
		next++
	}
	p.moveTo(next)
}

func (p *jsonParser) moveTo(next int) {
	for p.off < next && p.off < len(p.data) {
		r, size := utf8.DecodeRune(p.data[p.off:])
		p.off += size
		if r == '\n' {
			p.at = Pos{p.at.Line + 1, 1}
		} else {
			p.at.Column++
		}
	}
}

func (p *jsonParser) value(depth int) (*Node, error) {
	p.advance()
	if depth > maxDepth {
		return nil, fmt.Errorf("nested deeper than %d levels", maxDepth)
	}
	n, from := &Node{Pos: p.at}, p.off
	defer func() {
		if n.Kind == Map || n.Kind == List {
			n.Raw = p.data[from:p.dec.InputOffset()]
		}
	}()
	token, err := p.dec.ReadToken()
	if err != nil {
		return nil, err
	}
	switch token.Kind() {
	case '{':
		return n, p.object(n, depth)
	case '[':
		return n, p.array(n, depth)
	case 't', 'f':
		n.Kind, n.Text = Bool, token.String()
	case '0':
		n.Kind, n.Text = Int, token.String()
		if bytes.ContainsAny([]byte(n.Text), ".eE") {
			n.Kind = Float
		}
	case '"':
		n.Kind, n.Text = String, token.String()
	}
	return n, nil
}

func (p *jsonParser) object(n *Node, depth int) error {
	n.Kind = Map
	for p.dec.PeekKind() != '}' {
		p.advance()
		e := Entry{Pos: p.at}
		token, err := p.dec.ReadToken()
		if err != nil {
			return err
		}
		e.Key = token.String()
		if e.Value, err = p.value(depth + 1); err != nil {
			return err
		}
		n.Entries = append(n.Entries, e)
	}
	_, err := p.dec.ReadToken()
	return err
}

func (p *jsonParser) array(n *Node, depth int) error {
	n.Kind = List
	for p.dec.PeekKind() != ']' {
		item, err := p.value(depth + 1)
		if err != nil {
			return err
		}
		n.Items = append(n.Items, item)
	}
	_, err := p.dec.ReadToken()
	return err
}

// problem places a syntax error.
func (p *jsonParser) problem(err error) error {
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
