package strict

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"
)

// ParseJSON reads one JSON document. file appears in errors. Whatever follows
// the document is refused. Invalid UTF-8 is repaired.
func ParseJSON(file string, data []byte) (*Node, error) {
	p := &jsonParser{file: file, data: data, dec: json.NewDecoder(bytes.NewReader(data)), at: Pos{1, 1}}
	p.dec.UseNumber()
	n, err := p.value(0)
	if err != nil {
		return nil, p.problem(err)
	}
	p.advance()
	if _, err := p.dec.Token(); !errors.Is(err, io.EOF) {
		return nil, Problems{{File: file, Pos: p.at, Message: "more data follows the document (send one document)"}}
	}
	return n, nil
}

// jsonParser turns the tokens of a document into nodes. Positions are counted
// forward only, so that a document on one long line costs no more than others.
type jsonParser struct {
	file string
	data []byte
	dec  *json.Decoder
	off  int // the byte that at belongs to
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
	n := &Node{Pos: p.at}
	token, err := p.dec.Token()
	if err != nil {
		return nil, err
	}
	switch t := token.(type) {
	case json.Delim:
		if t == '{' {
			return n, p.object(n, depth)
		}
		return n, p.array(n, depth)
	case bool:
		n.Kind, n.Text = Bool, fmt.Sprint(t)
	case json.Number:
		n.Kind, n.Text = Int, t.String()
		if bytes.ContainsAny([]byte(t), ".eE") {
			n.Kind = Float
		}
	case string:
		n.Kind, n.Text = String, t
	}
	return n, nil
}

func (p *jsonParser) object(n *Node, depth int) error {
	n.Kind = Map
	for p.dec.More() {
		p.advance()
		e := Entry{Pos: p.at}
		token, err := p.dec.Token()
		if err != nil {
			return err
		}
		e.Key, _ = token.(string)
		if e.Value, err = p.value(depth + 1); err != nil {
			return err
		}
		n.Entries = append(n.Entries, e)
	}
	_, err := p.dec.Token()
	return err
}

func (p *jsonParser) array(n *Node, depth int) error {
	n.Kind = List
	for p.dec.More() {
		item, err := p.value(depth + 1)
		if err != nil {
			return err
		}
		n.Items = append(n.Items, item)
	}
	_, err := p.dec.Token()
	return err
}

// problem places a syntax error.
func (p *jsonParser) problem(err error) error {
	message := err.Error()
	var syntax *json.SyntaxError
	switch {
	case errors.Is(err, io.EOF) && len(bytes.TrimSpace(p.data)) == 0:
		message = "the document is empty (want a JSON object)"
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		p.moveTo(len(p.data))
		message = "the document ends in the middle of a value"
	case errors.As(err, &syntax):
		p.moveTo(int(syntax.Offset) - 1)
		message = "not valid JSON: " + message
	}
	return Problems{{File: p.file, Pos: p.at, Message: message}}
}
