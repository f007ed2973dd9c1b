package abi

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"strconv"
	"strings"
	"unicode/utf8"
)

// plainItems decodes a document as hosts write it, several times as fast as encoding/json, above
// all in a guest. It returns nil for anything unusual, such as a member that is unknown, null or
// repeated, or of the wrong type: encoding/json then has the last word on the whole document.
func plainItems(b []byte) *ItemsRequest {
	s := &itemScan{b: b}
	req := new(ItemsRequest)
	if !s.object(func(name string) (int, bool) { return s.request(req, name) }) {
		return nil
	}
	if s.space(); s.at < len(b) {
		return nil
	}
	return req
}

// itemScan reads a document from its beginning. Its methods return false if something is not as
// expected, and nothing is read after that.
type itemScan struct {
	b  []byte
	at int
}

// object reads an object. member reads the value of a member, and returns a bit that each name
// has of its own: no name may come twice.
func (s *itemScan) object(member func(name string) (bit int, ok bool)) bool {
	if !s.take('{') {
		return false
	}
	if s.take('}') {
		return true
	}
	seen := 0
	for {
		name, ok := s.name()
		if !ok {
			return false
		}
		bit, ok := member(name)
		if !ok || seen&bit != 0 {
			return false
		}
		seen |= bit
		if !s.take(',') {
			return s.take('}')
		}
	}
}

// list reads a list.
func (s *itemScan) list(element func() bool) bool {
	if !s.take('[') {
		return false
	}
	if s.take(']') {
		return true
	}
	for {
		if s.space(); !element() {
			return false
		}
		if !s.take(',') {
			return s.take(']')
		}
	}
}

// request reads the value of a member of the document.
func (s *itemScan) request(req *ItemsRequest, name string) (bit int, ok bool) {
	switch name {
	case "query":
		return 1, s.query(&req.Query)
	case "columns":
		req.Columns = []string{}
		return 2, s.list(func() bool {
			column, ok := s.text()
			req.Columns = append(req.Columns, column)
			return ok
		})
	case "items":
		req.Items = []Item{}
		return 4, s.list(func() bool {
			req.Items = append(req.Items, Item{})
			it := &req.Items[len(req.Items)-1]
			return s.object(func(name string) (int, bool) { return s.item(it, name) })
		})
	case "top_k":
		req.TopK, ok = s.integer()
		return 8, ok
	case "tokens_left":
		req.TokensLeft, ok = s.integer()
		return 16, ok
	case "settings":
		return 32, s.other(&req.Settings)
	}
	return 0, false
}

// query reads a query. One with more than its text is left to encoding/json.
func (s *itemScan) query(q *Query) bool {
	from := s.at
	if s.object(func(name string) (bit int, ok bool) {
		if name == "query_str" {
			q.Text, ok = s.text()
		}
		return 1, ok
	}) {
		return true
	}
	s.at, *q = from, Query{}
	return s.at < len(s.b) && s.b[s.at] == '{' && s.other(q)
}

// space skips white space.
func (s *itemScan) space() {
	for s.at < len(s.b) {
		switch s.b[s.at] {
		case ' ', '\t', '\r', '\n':
			s.at++
		default:
			return
		}
	}
}

// take reads a character, if it comes next.
func (s *itemScan) take(c byte) bool {
	s.space()
	if s.at == len(s.b) || s.b[s.at] != c {
		return false
	}
	s.at++
	return true
}

// name reads the name of a member and the colon.
func (s *itemScan) name() (string, bool) {
	raw, escaped, ok := s.quoted()
	if !ok || escaped || !s.take(':') {
		return "", false
	}
	s.space()
	return string(raw), true
}

// item reads the value of a member of an item.
func (s *itemScan) item(it *Item, name string) (bit int, ok bool) {
	switch name {
	case "id":
		it.ID, ok = s.text()
		return 1, ok
	case "content":
		it.Content, ok = s.text()
		return 2, ok
	case "source":
		it.Source, ok = s.text()
		return 4, ok
	case "score":
		it.Score, ok = s.number()
		return 8, ok
	case "priority":
		it.Priority, ok = s.integer()
		return 16, ok
	case "token_count":
		it.TokenCount, ok = s.integer()
		return 32, ok
	case "metadata":
		return 64, s.other(&it.Metadata)
	case "created_at":
		return 128, s.other(&it.CreatedAt)
	}
	return 0, false
}

// other has encoding/json read a value.
func (s *itemScan) other(v any) bool {
	raw, ok := s.value()
	return ok && json.Unmarshal(raw, v) == nil
}

// mostNested bounds the lists and objects within a value that are read here.
const mostNested = 1000

// value finds the end of a value of correct JSON.
func (s *itemScan) value() (raw []byte, ok bool) {
	from, depth := s.at, 0
	for s.at < len(s.b) {
		switch s.b[s.at] {
		case '"':
			if _, _, ok := s.quoted(); !ok {
				return nil, false
			}
		case '{', '[':
			if depth++; depth > mostNested {
				return nil, false
			}
			s.at++
		case '}', ']':
			if depth == 0 {
				return s.b[from:s.at], s.at > from
			}
			depth--
			s.at++
		case ',':
			if depth == 0 {
				return s.b[from:s.at], s.at > from
			}
			s.at++
		default:
			s.at++
		}
	}
	return nil, false
}

// quoted reads a string and returns what lies between its quotes.
func (s *itemScan) quoted() (raw []byte, escaped, ok bool) {
	if !s.take('"') {
		return nil, false, false
	}
	from := s.at
	for {
		n := bytes.IndexByte(s.b[s.at:], '"')
		if n < 0 {
			return nil, false, false
		}
		end := s.at + n
		s.at = end + 1
		backslashes := 0
		for end-backslashes > from && s.b[end-backslashes-1] == '\\' {
			backslashes++
		}
		if backslashes%2 == 0 {
			raw = s.b[from:end]
			return raw, bytes.IndexByte(raw, '\\') >= 0, true
		}
	}
}

// text reads a string and copies it.
func (s *itemScan) text() (string, bool) {
	from := s.at
	raw, escaped, ok := s.quoted()
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
	err := json.Unmarshal(s.b[from:s.at], &text)
	return text, err == nil
}

// unescape returns a text without its escapes, and false if it has others than those of one letter.
func unescape(raw []byte) (string, bool) {
	var out strings.Builder
	out.Grow(len(raw))
	for {
		n := bytes.IndexByte(raw, '\\')
		if n < 0 {
			out.Write(raw)
			return out.String(), true
		}
		out.Write(raw[:n])
		i := strings.IndexByte(escapes, raw[n+1])
		if i < 0 {
			return "", false
		}
		out.WriteByte(escaped[i])
		raw = raw[n+2:]
	}
}

// The letters of escapes, and what each stands for.
const (
	escapes = `"\/bfnrt`
	escaped = "\"\\/\b\f\n\r\t"
)

// hasControl reports whether a text has a control character, which JSON does not allow.
func hasControl(b []byte) bool {
	for ; len(b) >= 8; b = b[8:] { // eight characters at a time
		x := binary.LittleEndian.Uint64(b)
		if (x-0x2020202020202020)&^x&0x8080808080808080 != 0 {
			return true
		}
	}
	for _, c := range b {
		if c < ' ' {
			return true
		}
	}
	return false
}

// scalar reads a number as it is written.
func (s *itemScan) scalar() string {
	from := s.at
	for s.at < len(s.b) && strings.IndexByte("+-.0123456789Ee", s.b[s.at]) >= 0 {
		s.at++
	}
	return string(s.b[from:s.at])
}

// integer reads a whole number.
func (s *itemScan) integer() (int, bool) {
	text := s.scalar()
	n, err := strconv.Atoi(text)
	return n, err == nil && strconv.Itoa(n) == text
}

// number reads a number.
func (s *itemScan) number() (float64, bool) {
	text := s.scalar()
	if !json.Valid([]byte(text)) { // there are numbers of Go that JSON does not have
		return 0, false
	}
	n, err := strconv.ParseFloat(text, 64)
	return n, err == nil
}
