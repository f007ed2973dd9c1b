package message

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"
	"unsafe"

	"github.com/go-json-experiment/json/jsontext"
)

// maxMessages bounds the messages of a list. Anthropic's API takes as many.
const maxMessages = 100_000

// maxParts bounds the parts of all messages of a document, together with the members that are not
// known: each takes memory, however short it is.
const maxParts = 500_000

// reader reads a document once, from the beginning to the end. All texts that it returns are
// parts of the one string doc, unless they have escapes.
type reader struct {
	ctx   context.Context
	dec   *jsontext.Decoder
	doc   string
	tree  tree // of the message that is being read
	parts int  // how many parts and unknown members were read
	bad   int  // where the first byte is that is not UTF-8; negative if all are
}

// newReader returns a reader of a document, which it copies once. Escapes that stand for half a
// character are read as U+FFFD, because APIs return and accept them.
func newReader(data []byte) *reader { return readString(string(data)) }

// readString returns a reader of a document.
func readString(doc string) *reader {
	data := unsafe.Slice(unsafe.StringData(doc), len(doc)) // the decoder only reads it
	r := &reader{ctx: context.Background(), dec: jsontext.NewDecoder(bytes.NewBuffer(data), jsontext.AllowInvalidUTF8(true)), doc: doc, bad: -1}
	if !utf8.ValidString(doc) {
		r.bad = invalidAt(doc)
	}
	return r
}

// invalidAt returns where the first byte is that is not UTF-8.
func invalidAt(text string) int {
	for i, c := range text {
		if c == utf8.RuneError {
			if _, size := utf8.DecodeRuneInString(text[i:]); size == 1 {
				return i
			}
		}
	}
	return -1
}

// value reads a value of the document into the tree and returns its node.
func (r *reader) value() (int32, error) {
	r.tree.nodes = r.tree.nodes[:0]
	root, err := r.tree.read(r.dec, r.doc, "", 0)
	if err != nil {
		return none, err
	}
	if n := &r.tree.nodes[root]; r.bad >= n.at && r.bad < n.end() {
		err = fmt.Errorf("byte %d is not UTF-8: %w", r.bad-n.at, ErrInvalid)
		for _, step := range r.tree.pathTo(r.bad) {
			err = inside(step, err)
		}
		return none, err
	}
	return root, nil
}

// keep notes what was read, to find out later what has changed.
func (r *reader) keep(m *Message) error {
	o := m.origin
	if r.parts += countParts(m.Parts) + len(o.others); r.parts > maxParts {
		return fmt.Errorf("more than %d parts and unknown members in all messages: %w", maxParts, ErrInvalid)
	}
	o.role, o.name, o.parts = m.Role, m.Name, cloneParts(m.Parts)
	return nil
}

func countParts(parts []Part) int {
	n := len(parts)
	for i := range parts {
		if parts[i].Parts != nil {
			n += countParts(parts[i].Parts)
		}
	}
	return n
}

// end fails if anything follows the document.
func (r *reader) end() error {
	_, err := r.dec.ReadToken()
	switch {
	case errors.Is(err, io.EOF):
		return nil
	case err != nil:
		return syntaxError(err)
	}
	return fmt.Errorf("data after the document: %w", ErrInvalid)
}

// parse reads a JSON value that was read before.
func parse(raw string) (*tree, error) {
	t := &tree{}
	_, err := t.read(readString(raw).dec, raw, "", 0)
	return t, err
}
