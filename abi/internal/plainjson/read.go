// Package plainjson reads documents as hosts write them, many times as fast as encoding/json,
// above all in a guest. A [Reader] refuses anything unusual, such as a member that is null or
// repeated, or a value of the wrong type. A caller then gives the whole document to encoding/json,
// which has the last word. What a Reader does not refuse, it reads as encoding/json does.
package plainjson

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strconv"
	"unicode/utf8"

	"github.com/anchor-host/anchor-host/abi/internal/inplace"
	"github.com/anchor-host/anchor-host/abi/internal/jsontext"
)

// Reader reads a document from its beginning. Its methods return false if something is not as
// expected, and nothing may be read after that. Results do not alias the document.
type Reader struct {
	b  []byte
	at int
	// names are the names of the fields of structs that were met.
	names map[reflect.Type][]string
}

// Read has read take the one value of a document, and reports whether all of it was as expected.
func Read(b []byte, read func(*Reader) bool) bool {
	r := &Reader{b: b}
	if !read(r) {
		return false
	}
	r.space()
	return r.at == len(b)
}

// space skips white space.
func (r *Reader) space() { r.at = jsontext.SkipSpace(r.b, r.at) }

// take reads a character, if it comes next.
func (r *Reader) take(c byte) bool {
	if r.space(); r.at == len(r.b) || r.b[r.at] != c {
		return false
	}
	r.at++
	return true
}

// Object reads an object. member reads the value of a member, and returns a bit that each name
// has of its own: no name may come twice.
func (r *Reader) Object(member func(name string) (bit int, ok bool)) bool {
	if !r.take('{') {
		return false
	}
	if r.take('}') {
		return true
	}
	seen := 0
	for {
		name, escaped, ok := r.quoted()
		if !ok || escaped || !r.take(':') {
			return false
		}
		bit, ok := member(inplace.String(name))
		if !ok || seen&bit != 0 {
			return false
		}
		if seen |= bit; !r.take(',') {
			return r.take('}')
		}
	}
}

// List reads a list.
func (r *Reader) List(element func() bool) bool {
	if !r.take('[') {
		return false
	}
	if r.take(']') {
		return true
	}
	for {
		if !element() {
			return false
		}
		if !r.take(',') {
			return r.take(']')
		}
	}
}

// Other has encoding/json read a value.
func (r *Reader) Other(v any) bool {
	raw, ok := r.value()
	return ok && json.Unmarshal(raw, v) == nil
}

// MaxNesting bounds the lists and objects within a value for [Reader.Other]. It is far below the
// bound of encoding/json, which counts those around the value too.
const MaxNesting = 1000

// value finds the end of a value of correct JSON.
func (r *Reader) value() (raw []byte, ok bool) {
	r.space()
	from, depth := r.at, 0
	for r.at < len(r.b) {
		switch r.b[r.at] {
		case '"':
			if _, _, ok := r.quoted(); !ok {
				return nil, false
			}
			continue
		case '{', '[':
			if depth++; depth > MaxNesting {
				return nil, false
			}
		case '}', ']':
			if depth == 0 {
				return r.b[from:r.at], r.at > from
			}
			depth--
		case ',':
			if depth == 0 {
				return r.b[from:r.at], r.at > from
			}
		}
		r.at++
	}
	return nil, false
}

// quoted reads a string and returns what lies between its quotes.
func (r *Reader) quoted() (raw []byte, escaped, ok bool) {
	if !r.take('"') {
		return nil, false, false
	}
	if raw, escaped, ok = jsontext.Quoted(r.b[r.at:]); ok {
		r.at += len(raw) + 1
	}
	return raw, escaped, ok
}

// Text reads a string.
func (r *Reader) Text() (string, bool) {
	r.space()
	from := r.at
	raw, escaped, ok := r.quoted()
	switch {
	case !ok || hasControl(raw) || !utf8.Valid(raw):
		return "", false
	case !escaped:
		return string(raw), true
	}
	if text, ok := unescape(raw); ok {
		return text, true
	}
	var text string
	err := json.Unmarshal(r.b[from:r.at], &text)
	return text, err == nil
}

// Integer reads a whole number.
func (r *Reader) Integer() (int, bool) {
	n, err := strconv.Atoi(r.digits())
	return n, err == nil
}

// Number reads a number.
func (r *Reader) Number() (float64, bool) {
	n, err := strconv.ParseFloat(r.digits(), 64)
	return n, err == nil
}

// Numbers reads a list of numbers.
func (r *Reader) Numbers() ([]float32, bool) {
	if !r.take('[') {
		return nil, false
	}
	if r.take(']') {
		return []float32{}, true
	}
	n := bytes.IndexByte(r.b[r.at:], ']')
	if n < 0 {
		return nil, false
	}
	list := make([]float32, bytes.Count(r.b[r.at:r.at+n], []byte{','})+1)
	for i := range list {
		f, err := single(r.digits())
		if err != nil {
			return nil, false
		}
		list[i] = f
		if i+1 < len(list) && !r.take(',') {
			return nil, false
		}
	}
	return list, r.take(']')
}

// digits reads a number as it is written, and nothing if there is none. The text is valid as
// long as the document.
func (r *Reader) digits() string {
	r.space()
	end, ok := jsontext.NumberEnd(r.b, r.at)
	if !ok {
		return ""
	}
	from := r.at
	r.at = end
	return inplace.String(r.b[from:end])
}
