package abi

import (
	"bytes"
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"time"
)

// jsonReader reads a document that scanJSON has checked. It can therefore skip the
// characters between values, and it knows how many elements each list and object has. After
// an error it reads nothing more. Its results do not alias the document.
type jsonReader struct {
	b  []byte
	at int
	// counts are the numbers of elements of the lists and objects that have not begun.
	counts []uint32
	meter  *meter
	// in are the names of the members that enclose the current value.
	in  []string
	err error
}

func (r *jsonReader) fail(err error) {
	if r.err == nil {
		r.err = err
	}
}

// charge reports whether there is room for n bytes.
func (r *jsonReader) charge(n int64) bool {
	if err := r.meter.charge(n); err != nil {
		r.fail(err)
	}
	return r.err == nil
}

// next returns the first character of the next value or name, or the character that ends
// the list or object.
func (r *jsonReader) next() byte {
	for {
		switch c := r.b[r.at]; c {
		case ' ', '\n', '\t', '\r', ',', ':':
			r.at++
		default:
			return c
		}
	}
}

// wrong is the error about a value of the wrong type.
func (r *jsonReader) wrong(what, want string) {
	where := strings.Join(r.in, ".")
	if where == "" {
		where = "document"
	}
	r.fail(replyError("has a JSON " + what + " at " + where + " (want " + want + ")"))
}

// is refuses a value that does not begin with the expected character.
func (r *jsonReader) is(first byte, want string) bool {
	if r.err != nil {
		return false
	}
	what := "number"
	switch r.next() {
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
	r.wrong(what, want)
	return false
}

// begin enters a list or an object and returns the number of its elements.
func (r *jsonReader) begin() int {
	n := r.counts[0]
	r.counts = r.counts[1:]
	r.at++
	return int(n)
}

// end leaves it.
func (r *jsonReader) end() {
	r.next()
	r.at++
}

// object reads the members of an object; read is called with the index of each in names.
func (r *jsonReader) object(names []string, read func(member int)) {
	if !r.is('{', "an object") {
		return
	}
	for range r.begin() {
		i := r.member(names)
		if r.err != nil {
			return
		}
		r.in = append(r.in, names[i])
		read(i)
		r.in = r.in[:len(r.in)-1]
		if r.err != nil {
			return
		}
	}
	r.end()
}

// member reads a name.
func (r *jsonReader) member(names []string) int {
	r.next()
	raw, escaped := r.quoted()
	if escaped {
		raw = appendUnescaped(nil, raw)
	}
	for i, name := range names {
		if string(raw) == name {
			return i
		}
	}
	name := string(raw[:min(len(raw), longestQuote+1)])
	r.fail(replyError("has the unknown member " + quote(name) + hint(name, names)))
	return 0
}

// quoted reads a string and returns what stands between its quotes.
func (r *jsonReader) quoted() (raw []byte, escaped bool) {
	from := r.at + 1
	n := bytes.IndexByte(r.b[from:], '"')
	if bytes.IndexByte(r.b[from:from+n], '\\') < 0 {
		r.at = from + n + 1
		return r.b[from : from+n], false
	}
	at := from
	for r.b[at] != '"' {
		if r.b[at] == '\\' {
			at++
		}
		at++
	}
	r.at = at + 1
	return r.b[from:at], true
}

// text reads a string.
func (r *jsonReader) text() string {
	if !r.is('"', "a string") {
		return ""
	}
	raw, escaped := r.quoted()
	if len(raw) == 0 || !r.charge(textBytes(len(raw))) {
		return ""
	}
	if !escaped {
		return string(raw)
	}
	return text(appendUnescaped(make([]byte, 0, len(raw)), raw))
}

// scalar reads a number or a literal as it is written.
func (r *jsonReader) scalar() string {
	from := r.at
	for r.at < len(r.b) && strings.IndexByte(",]} \n\t\r", r.b[r.at]) < 0 {
		r.at++
	}
	return text(r.b[from:r.at])
}

// digits reads a number with parse. The error says that it must be what want describes.
func digits[T any](r *jsonReader, want string, parse func(string) (T, error)) (v T) {
	if r.err != nil {
		return v
	}
	if c := r.next(); c != '-' && (c < '0' || c > '9') {
		r.is('0', want)
		return v
	}
	s := r.scalar()
	v, err := parse(s)
	if err != nil {
		if len(s) > longestQuote {
			s = s[:longestQuote] + "…"
		}
		r.wrong("number "+s, want)
	}
	return v
}

const wantRow = "a row number, 0 to 4294967295"

func (r *jsonReader) row() uint32 {
	return digits(r, wantRow, func(s string) (uint32, error) {
		n, err := strconv.ParseUint(s, 10, 32)
		return uint32(n), err
	})
}

func (r *jsonReader) integer() int { return digits(r, "an integer", strconv.Atoi) }

func (r *jsonReader) float() float64 {
	return digits(r, "a number", func(s string) (float64, error) { return strconv.ParseFloat(s, 64) })
}

// time reads a time and returns it in UTC.
func (r *jsonReader) time() (t time.Time) {
	if !r.is('"', "a time in RFC 3339") {
		return t
	}
	raw, escaped := r.quoted()
	if escaped {
		raw = appendUnescaped(nil, raw)
	}
	if t.UnmarshalText(raw) != nil {
		r.wrong("string "+quote(string(raw[:min(len(raw), longestQuote+1)])), "a time in RFC 3339, such as 2025-03-01T12:30:00Z")
	}
	return t.UTC()
}

// raw reads any value as it is written.
func (r *jsonReader) raw() json.RawMessage {
	if r.err != nil {
		return nil
	}
	value, begun := r.skip()
	if r.counts = r.counts[begun:]; !r.charge(int64(len(value))) {
		return nil
	}
	return bytes.Clone(value)
}

// skip passes over a value. It returns the value and how many lists and objects it
// contains.
func (r *jsonReader) skip() (value []byte, begun int) {
	r.next()
	from := r.at
	for depth := 0; ; {
		switch r.next() {
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

// metadata reads an object of any values.
func (r *jsonReader) metadata() Metadata {
	if r.err != nil {
		return nil
	}
	if r.next() != '{' {
		r.fail(replyError(`is not usable: ` + r.in[len(r.in)-1] + ` is not an object (want {"key": value})`))
		return nil
	}
	return r.values(0)
}

// values reads an object at a depth.
func (r *jsonReader) values(depth int) map[string]any {
	n := r.begin()
	if !r.charge(mapBytes(n)) {
		return nil
	}
	m := make(map[string]any, n)
	for range n {
		key := r.text()
		m[key] = r.value(depth)
		if r.err != nil {
			return nil
		}
	}
	r.end()
	return m
}

// value reads any value. depth is the number of lists and objects of the metadata value
// that enclose it.
func (r *jsonReader) value(depth int) any {
	if r.err != nil {
		return nil
	}
	switch c := r.next(); c {
	case '"':
		if !r.charge(boxSize) {
			return nil
		}
		return r.text()
	case '{', '[':
		if depth >= MaxDepth {
			r.fail(replyError("is not usable: " + string(errDepth)))
			return nil
		}
		if c == '{' {
			return r.values(depth + 1)
		}
		return r.list(depth + 1)
	}
	return r.simple(r.scalar())
}

func (r *jsonReader) list(depth int) []any {
	n := r.begin()
	if !r.charge(listSize + elementSize*int64(n)) {
		return nil
	}
	list := make([]any, n)
	for i := range list {
		if list[i] = r.value(depth); r.err != nil {
			return nil
		}
	}
	r.end()
	return list
}

// simple is the value of a literal or a number.
func (r *jsonReader) simple(s string) any {
	switch s {
	case "null":
		return nil
	case "true":
		return true
	case "false":
		return false
	}
	v, err := numberValue(s)
	if err != nil {
		r.fail(replyError("is not usable: " + err.Error()))
	}
	r.charge(numberSize)
	return v
}

// elements reads a list and charges its memory before it allocates it. one reads each
// element.
func elements[T any](r *jsonReader, one func(*T)) []T {
	if !r.is('[', "a list") {
		return nil
	}
	n := r.begin()
	if !r.charge(int64(n) * sizeOf[T]()) {
		return nil
	}
	list := make([]T, n)
	for i := range list {
		if err := r.meter.look(i); err != nil {
			r.fail(err)
		}
		if one(&list[i]); r.err != nil {
			return nil
		}
	}
	r.end()
	return list
}

// ahead is the number of elements of the list that comes next.
func (r *jsonReader) ahead() int {
	if r.err != nil || r.next() != '[' {
		return 0
	}
	return int(r.counts[0])
}

// readJSON scans b, which must begin with first, and has read decode it. If b begins
// otherwise, the error is otherwise. Other errors are a replyError, a *ChangeError or that
// of the Meter, or wrap ErrTooLarge.
func readJSON(b []byte, first byte, otherwise error, m meter, read func(*jsonReader)) error {
	if t := bytes.TrimLeft(b, " \t\r\n"); len(t) == 0 || t[0] != first {
		return otherwise
	}
	return openJSON(b, &m, read)
}

func openJSON(b []byte, m *meter, read func(*jsonReader)) error {
	var counts [16]uint32
	var open [8]container
	var names [16]memberName
	s := jsonScan{meter: m, counts: counts[:0], open: open[:0], names: names[:0]}
	if err := scanJSON(b, &s); err != nil {
		return err
	}
	var in [4]string
	r := jsonReader{b: b, counts: s.counts, meter: m, in: in[:0]}
	read(&r)
	return r.err
}

// decodeJSONWithin reads one metadata value.
func decodeJSONWithin(b []byte, budget *meter) (v any, err error) {
	m := *budget
	err = openJSON(b, &m, func(r *jsonReader) { v = r.value(0) })
	*budget = m
	var text replyError
	if errors.As(err, &text) {
		return nil, valueError(strings.TrimPrefix(string(text), "is not usable: "))
	}
	return v, err
}
