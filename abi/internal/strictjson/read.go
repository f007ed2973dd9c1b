// Package strictjson reads the JSON that guests answer with. A document is checked as a whole
// before any of it is decoded: its form, its encoding, repeated names. Then a [Reader] decodes
// it and asks a [Meter] before it allocates memory.
package strictjson

import (
	"bytes"
	"encoding/json"
	"errors"
	"iter"
	"strconv"
	"strings"
	"time"

	"github.com/anchor-host/anchor-host/abi/internal/inplace"
	"github.com/anchor-host/anchor-host/abi/internal/jsontext"
)

// Reader reads a document that has been checked. It can therefore skip the
// characters between values, and it knows how many elements each list and object has. After
// an error it reads nothing more. Its results do not alias the document.
type Reader struct {
	b  []byte
	at int
	// counts are the numbers of elements of the lists and objects that have not begun.
	counts []uint32
	meter  *Meter
	// in are the names of the members that enclose the current value.
	in []string
	// Err is the first error, nil as long as there is none.
	Err error
}

// Fail ends the reading with an error. Only the first one counts.
func (r *Reader) Fail(err error) {
	if r.Err == nil {
		r.Err = err
	}
}

// Charge reports whether there is room for n bytes.
func (r *Reader) Charge(n int64) bool {
	if err := r.meter.Charge(n); err != nil {
		r.Fail(err)
	}
	return r.Err == nil
}

// Next returns the first character of the next value or name, or the character that ends
// the list or object.
func (r *Reader) Next() byte {
	for {
		switch c := r.b[r.at]; c {
		case ' ', '\n', '\t', '\r', ',', ':':
			r.at++
		default:
			return c
		}
	}
}

// Wrong is the error about a value of the wrong type.
func (r *Reader) Wrong(what, want string) {
	where := strings.Join(r.in, ".")
	if where == "" {
		where = "document"
	}
	r.Fail(Error("has a JSON " + what + " at " + where + " (want " + want + ")"))
}

// Is refuses a value that does not begin with the expected character.
func (r *Reader) Is(first byte, want string) bool {
	if r.Err != nil {
		return false
	}
	what := "number"
	switch r.Next() {
	case first:
		return true
	case '{':
		what = "object"
	case '[':
		what = "array"
	case '"':
		what = "string"
	case 't', 'f':
		what = "bool"
	case 'n':
		what = "null"
	}
	r.Wrong(what, want)
	return false
}

// begin enters a list or an object and returns the number of its elements.
func (r *Reader) begin() int {
	n := r.counts[0]
	r.counts = r.counts[1:]
	r.at++
	return int(n)
}

// end leaves a list or an object.
func (r *Reader) end() {
	r.Next()
	r.at++
}

// Object reads the members of an object; read is called with the index of each in names.
func (r *Reader) Object(names []string, read func(member int)) {
	if !r.Is('{', "an object") {
		return
	}
	for range r.begin() {
		i := r.member(names)
		if r.Err != nil {
			return
		}
		r.in = append(r.in, names[i])
		read(i)
		r.in = r.in[:len(r.in)-1]
		if r.Err != nil {
			return
		}
	}
	r.end()
}

// member reads a name.
func (r *Reader) member(names []string) int {
	r.Next()
	raw, escaped := r.quoted()
	if escaped {
		raw = appendUnescaped(nil, raw)
	}
	for i, name := range names {
		if string(raw) == name {
			return i
		}
	}
	name := string(raw[:min(len(raw), jsontext.LongestQuote+1)])
	r.Fail(Error("has the unknown member " + jsontext.Quote(name) + jsontext.WantOneOf(names)))
	return 0
}

// quoted reads a string and returns the bytes between its quotes.
func (r *Reader) quoted() (raw []byte, escaped bool) {
	raw, escaped, _ = jsontext.Quoted(r.b[r.at+1:])
	r.at += len(raw) + 2
	return raw, escaped
}

// Text reads a string.
func (r *Reader) Text() string {
	if !r.Is('"', "a string") {
		return ""
	}
	raw, escaped := r.quoted()
	if len(raw) == 0 || !r.Charge(TextBytes(len(raw))) {
		return ""
	}
	if !escaped {
		return string(raw)
	}
	return inplace.String(appendUnescaped(make([]byte, 0, len(raw)), raw))
}

// scalar reads a number or a literal as it is written.
func (r *Reader) scalar() string {
	from := r.at
	for r.at < len(r.b) && strings.IndexByte(",]} \n\t\r", r.b[r.at]) < 0 {
		r.at++
	}
	return inplace.String(r.b[from:r.at])
}

// digits reads a number with parse. The error says that it must be what want describes.
func digits[T any](r *Reader, want string, parse func(string) (T, error)) (v T) {
	if r.Err != nil {
		return v
	}
	if c := r.Next(); c != '-' && (c < '0' || c > '9') {
		r.Is('0', want)
		return v
	}
	s := r.scalar()
	v, err := parse(s)
	if err != nil {
		if len(s) > jsontext.LongestQuote {
			s = s[:jsontext.LongestQuote] + "…"
		}
		r.Wrong("number "+s, want)
	}
	return v
}

const wantRow = "a row number, 0 to 4294967295"

// Row reads the number of a row.
func (r *Reader) Row() uint32 {
	return digits(r, wantRow, func(s string) (uint32, error) {
		n, err := strconv.ParseUint(s, 10, 32)
		return uint32(n), err
	})
}

// Integer reads a whole number.
func (r *Reader) Integer() int { return digits(r, "an integer", strconv.Atoi) }

// Float reads a number.
func (r *Reader) Float() float64 {
	return digits(r, "a number", func(s string) (float64, error) { return strconv.ParseFloat(s, 64) })
}

// Bool reads true or false.
func (r *Reader) Bool() bool {
	if r.Err != nil {
		return false
	}
	if c := r.Next(); c != 't' && c != 'f' {
		r.Is('t', "true or false")
		return false
	}
	return r.scalar() == "true"
}

// Time reads a time and returns it in UTC.
func (r *Reader) Time() (t time.Time) {
	if !r.Is('"', "a time in RFC 3339") {
		return t
	}
	raw, escaped := r.quoted()
	if escaped {
		raw = appendUnescaped(nil, raw)
	}
	if t.UnmarshalText(raw) != nil {
		r.Wrong("string "+jsontext.Quote(string(raw[:min(len(raw), jsontext.LongestQuote+1)])), "a time in RFC 3339, such as 2025-03-01T12:30:00Z")
	}
	return t.UTC()
}

// Raw reads any value as it is written.
func (r *Reader) Raw() json.RawMessage {
	if r.Err != nil {
		return nil
	}
	value, begun := r.skip()
	if r.counts = r.counts[begun:]; !r.Charge(int64(len(value))) {
		return nil
	}
	return bytes.Clone(value)
}

// skip passes over a value. It returns the value and how many lists and objects it
// contains.
func (r *Reader) skip() (value []byte, begun int) {
	r.Next()
	from := r.at
	for depth := 0; ; {
		switch r.Next() {
		case '"':
			r.quoted()
		case '{', '[':
			r.at++
			begun++
			depth++
		case '}', ']':
			r.at++
			depth--
		default:
			r.scalar()
		}
		if depth == 0 {
			return r.b[from:r.at], begun
		}
	}
}

// Metadata reads an object of any values.
func (r *Reader) Metadata() map[string]any {
	if r.Err != nil {
		return nil
	}
	if r.Next() != '{' {
		r.Fail(Error(`is not usable: ` + r.in[len(r.in)-1] + ` is not an object (want {"key": value})`))
		return nil
	}
	return r.values(0)
}

// values reads an object at a depth.
func (r *Reader) values(depth int) map[string]any {
	n := r.begin()
	if !r.Charge(MapBytes(n)) {
		return nil
	}
	m := make(map[string]any, n)
	for range n {
		key := r.Text()
		m[key] = r.value(depth)
		if r.Err != nil {
			return nil
		}
	}
	r.end()
	return m
}

// value reads any value. depth is the number of lists and objects of the metadata value
// that enclose it.
func (r *Reader) value(depth int) any {
	if r.Err != nil {
		return nil
	}
	switch c := r.Next(); c {
	case '"':
		if !r.Charge(BoxSize) {
			return nil
		}
		return r.Text()
	case '{', '[':
		if depth >= jsontext.MaxDepth {
			r.Fail(Error("is not usable: " + string(jsontext.ErrDepth)))
			return nil
		}
		if c == '{' {
			return r.values(depth + 1)
		}
		return r.list(depth + 1)
	}
	return r.simple(r.scalar())
}

func (r *Reader) list(depth int) []any {
	n := r.begin()
	if !r.Charge(listSize + ElementSize*int64(n)) {
		return nil
	}
	list := make([]any, n)
	for i := range list {
		if list[i] = r.value(depth); r.Err != nil {
			return nil
		}
	}
	r.end()
	return list
}

// simple is the value of a literal or a number.
func (r *Reader) simple(s string) any {
	switch s {
	case "null":
		return nil
	case "true":
		return true
	case "false":
		return false
	}
	v, err := jsontext.Number(s)
	if err != nil {
		r.Fail(Error("is not usable: " + err.Error()))
	}
	r.Charge(NumberSize)
	return v
}

// List reads a list and charges its memory before it allocates it. one reads each
// element.
func List[T any](r *Reader, one func(*T)) []T {
	if !r.Is('[', "a list") {
		return nil
	}
	n := r.begin()
	if !r.Charge(int64(n) * inplace.SizeOf[T]()) {
		return nil
	}
	list := make([]T, n)
	for i := range list {
		if err := r.meter.look(i); err != nil {
			r.Fail(err)
		}
		if one(&list[i]); r.Err != nil {
			return nil
		}
	}
	r.end()
	return list
}

// Ahead is the number of elements of the list that comes next.
func (r *Reader) Ahead() int {
	if r.Err != nil || r.Next() != '[' {
		return 0
	}
	return int(r.counts[0])
}

// Read scans b, which must begin with first, and has read decode it. If b begins otherwise, the
// error is otherwise. Other errors are an Error, a *ChangeError or that of the Meter, or wrap
// ErrTooLarge.
func Read(b []byte, first byte, otherwise error, m Meter, read func(*Reader)) error {
	if t := bytes.TrimLeft(b, " \t\r\n"); len(t) == 0 || t[0] != first {
		return otherwise
	}
	return open(b, &m, read)
}

func open(b []byte, m *Meter, read func(*Reader)) error {
	var counts [16]uint32
	var open [8]container
	var names [16]memberName
	s := scan{meter: m, counts: counts[:0], open: open[:0], names: names[:0]}
	if err := check(b, &s); err != nil {
		return err
	}
	var in [4]string
	r := Reader{b: b, counts: s.counts, meter: m, in: in[:0]}
	read(&r)
	return r.Err
}

// Value reads one metadata value.
func Value(b []byte, budget *Meter) (v any, err error) {
	m := *budget
	err = open(b, &m, func(r *Reader) { v = r.value(0) })
	*budget = m
	var text Error
	if errors.As(err, &text) {
		return nil, jsontext.ValueError(strings.TrimPrefix(string(text), "is not usable: "))
	}
	return v, err
}

// Members are the members of an object of a document that [Check] has checked: names,
// and values as they are written.
func Members(object []byte) iter.Seq2[string, []byte] {
	return func(yield func(string, []byte) bool) {
		r := Reader{b: object}
		r.Next()
		for r.at++; r.Next() != '}'; {
			name, escaped := r.quoted()
			if escaped {
				name = appendUnescaped(nil, name)
			}
			if value, _ := r.skip(); !yield(string(name), value) {
				return
			}
		}
	}
}

// Elements are the elements of a list of a document that [Check] has checked, as they
// are written.
func Elements(list []byte) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		r := Reader{b: list}
		r.Next()
		for r.at++; r.Next() != ']'; {
			if value, _ := r.skip(); !yield(value) {
				return
			}
		}
	}
}
