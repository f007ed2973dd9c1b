package strictjson

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/anchor-host/anchor-host/abi/internal/jsontext"
)

// maxNesting is the maximum nesting depth of lists and objects in a document.
const maxNesting = 10_000

// scan checks a document before any of it is decoded. The document must be one JSON
// value in UTF-8, without repeated names in an object and without escapes for half a
// character. The scan counts the elements of every list and object, so that the reader can
// allocate or refuse them at once.
type scan struct {
	b []byte
	// meter, unless it is nil, is asked whether to go on. seen counts the elements so far.
	meter *Meter
	seen  int
	// counts are the numbers of elements of each list and object, in the order in which
	// they begin.
	counts []uint32
	open   []container
	// names are the names of the members of open objects. unescaped holds the text of the
	// names that contain escapes.
	names     []memberName
	unescaped []byte
	// repeated describes the first repeated name of an object, "" if there is none.
	repeated Error
}

// container is a list or an object whose end has not been seen.
type container struct {
	count uint32 // its place in counts
	names uint32 // where its names begin
	end   byte
}

// memberName is the place of a name: in unescaped if to has the bit isUnescaped, otherwise
// in the document.
type memberName struct{ from, to uint32 }

const isUnescaped = 1 << 31

// Check checks a document, whose values [Members] and [Elements] may read then. Its
// error is a Error or wraps ErrTooLarge. repeated describes the first repeated name of an
// object, "" if there is none.
func Check(b []byte) (repeated Error, err error) {
	var s scan
	err = s.run(b)
	return s.repeated, err
}

// check checks b. The error is a Error or wraps ErrTooLarge.
func check(b []byte, s *scan) error {
	if err := s.run(b); err != nil {
		return err
	}
	if s.repeated != "" {
		return s.repeated
	}
	return nil
}

// run does what check does, but its caller must check repeated.
func (s *scan) run(b []byte) error {
	if len(b) > jsontext.MaxBytes {
		return TooLarge("has " + strconv.Itoa(len(b)) + " bytes (want at most " + strconv.Itoa(jsontext.MaxBytes) + ")")
	}
	if !utf8.Valid(b) {
		return Error("is not valid UTF-8")
	}
	s.b = b
	at := s.space(0)
	for {
		opened, next, err := s.begin(at)
		if err != nil {
			return err
		}
		at = next
		if opened {
			continue
		}
		if at, err = s.unwind(at); err != nil || at < 0 {
			return err
		}
	}
}

// begin reads the beginning of a value. For a list or object with elements it returns where
// the first element begins, for other values where the value ends.
func (s *scan) begin(at int) (opened bool, next int, err error) {
	if at >= len(s.b) {
		return false, 0, errEnd
	}
	switch c := s.b[at]; {
	case c == '{' || c == '[':
		return s.enter(at, c+2)
	case c == '"':
		next, _, err = s.text(at)
	case c == '-' || c >= '0' && c <= '9':
		next, err = s.number(at)
	default:
		next, err = s.literal(at)
	}
	return false, next, err
}

// enter reads the beginning of a list or object that ends with end.
func (s *scan) enter(at int, end byte) (opened bool, next int, err error) {
	s.counts = append(s.counts, 0)
	if at = s.space(at + 1); at < len(s.b) && s.b[at] == end {
		return false, at + 1, nil
	}
	if len(s.open) == maxNesting {
		return false, 0, Error("nests deeper than " + strconv.Itoa(maxNesting) + " levels (flatten it)")
	}
	s.open = append(s.open, container{uint32(len(s.counts) - 1), uint32(len(s.names)), end})
	next, err = s.element(at)
	return true, next, err
}

// element counts an element of the innermost open list or object. It returns where the
// value of the element begins.
func (s *scan) element(at int) (int, error) {
	if s.seen++; s.seen%lookAfter == 0 {
		if err := s.meter.look(s.seen - 1); err != nil {
			return 0, err
		}
	}
	c := &s.open[len(s.open)-1]
	s.counts[c.count]++
	if c.end == ']' {
		return at, nil
	}
	if at >= len(s.b) {
		return 0, errEnd
	}
	if s.b[at] != '"' {
		return 0, s.unexpected(at, "the name of a member")
	}
	next, escaped, err := s.text(at)
	if err != nil {
		return 0, err
	}
	name := memberName{uint32(at + 1), uint32(next - 1)}
	if escaped {
		from := len(s.unescaped)
		s.unescaped = appendUnescaped(s.unescaped, s.b[at+1:next-1])
		name = memberName{uint32(from), uint32(len(s.unescaped)) | isUnescaped}
	}
	s.names = append(s.names, name)
	switch at = s.space(next); {
	case at >= len(s.b):
		return 0, errEnd
	case s.b[at] != ':':
		return 0, s.unexpected(at, "a colon")
	}
	return s.space(at + 1), nil
}

// unwind reads the ends of lists and objects after a value, and the comma after them. It
// returns where the next value begins, or -1 at the end of the document.
func (s *scan) unwind(at int) (int, error) {
	for len(s.open) > 0 {
		if at = s.space(at); at >= len(s.b) {
			return 0, errEnd
		}
		c := &s.open[len(s.open)-1]
		switch s.b[at] {
		case ',':
			return s.element(s.space(at + 1))
		case c.end:
			if s.repeated == "" {
				s.repeated = s.distinct(s.names[c.names:])
			}
			s.names, s.open = s.names[:c.names], s.open[:len(s.open)-1]
			at++
		default:
			return 0, s.unexpected(at, "a comma or "+strconv.QuoteRune(rune(c.end)))
		}
	}
	if s.space(at) < len(s.b) {
		return 0, errTrailing
	}
	return -1, nil
}

// distinct describes a member that an object names twice, "" if there is none.
func (s *scan) distinct(names []memberName) Error {
	const few = 8 // up to here comparing each name with the others is faster than sorting
	if len(names) <= few {
		for i := range names {
			for j := range i {
				if bytes.Equal(s.name(names[i]), s.name(names[j])) {
					return s.twice(names[i])
				}
			}
		}
		return ""
	}
	slices.SortFunc(names, func(a, b memberName) int { return bytes.Compare(s.name(a), s.name(b)) })
	for i := 1; i < len(names); i++ {
		if bytes.Equal(s.name(names[i-1]), s.name(names[i])) {
			return s.twice(names[i])
		}
	}
	return ""
}

func (s *scan) twice(n memberName) Error {
	return Error("has the member " + jsontext.Quote(string(s.name(n))) + " twice (name it once)")
}

func (s *scan) name(n memberName) []byte {
	if n.to&isUnescaped != 0 {
		return s.unescaped[n.from : n.to&^isUnescaped]
	}
	return s.b[n.from:n.to]
}

func (s *scan) space(at int) int { return jsontext.SkipSpace(s.b, at) }

// text reads a string from its opening quote on. It returns where the string ends and
// whether it contains escapes.
func (s *scan) text(at int) (end int, escaped bool, err error) {
	b := s.b
	for i := at + 1; i < len(b); i++ {
		switch c := b[i]; {
		case c == '"':
			return i + 1, escaped, nil
		case c == '\\':
			n, err := s.escape(i)
			if err != nil {
				return 0, false, err
			}
			i, escaped = i+n-1, true
		case c < ' ':
			return 0, false, s.unexpected(i, "a string without control characters (escape them)")
		}
	}
	return 0, false, errEnd
}

// escape returns the length of the escape at index at. If two escapes make one character,
// it returns their length together.
func (s *scan) escape(at int) (int, error) {
	rest := s.b[at:]
	if len(rest) < 2 {
		return 0, errEnd
	}
	switch rest[1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return 2, nil
	case 'u':
	default:
		return 0, s.unexpected(at+1, "an escape")
	}
	unit, ok := hexUnit(rest)
	switch {
	case !ok:
		return 0, Error("is not JSON at byte " + strconv.Itoa(at+1) + `: \u without four hexadecimal digits`)
	case !utf16.IsSurrogate(unit):
		return 6, nil
	}
	if low, ok := hexUnit(rest[6:]); ok && utf16.DecodeRune(unit, low) != utf8.RuneError {
		return 12, nil
	}
	return 0, Error(fmt.Sprintf(`has the escape \u%04x at byte %d, which is half of a character (want both, or the character itself)`, unit, at+1))
}

// hexUnit reads an escape of four hexadecimal digits.
func hexUnit(b []byte) (unit rune, ok bool) {
	if len(b) < 6 || b[0] != '\\' || b[1] != 'u' {
		return 0, false
	}
	for _, c := range b[2:6] {
		switch {
		case c >= '0' && c <= '9':
			c -= '0'
		case c >= 'a' && c <= 'f':
			c -= 'a' - 10
		case c >= 'A' && c <= 'F':
			c -= 'A' - 10
		default:
			return 0, false
		}
		unit = unit<<4 | rune(c)
	}
	return unit, true
}

// number reads a number and returns where it ends.
func (s *scan) number(at int) (int, error) {
	end, ok := jsontext.NumberEnd(s.b, at)
	if !ok {
		return 0, s.unexpected(end, "a digit")
	}
	return end, nil
}

func (s *scan) literal(at int) (int, error) {
	for _, word := range [...]string{"true", "false", "null"} {
		if rest := s.b[at:]; rest[0] == word[0] {
			if len(rest) >= len(word) && string(rest[:len(word)]) == word {
				return at + len(word), nil
			}
			if len(rest) < len(word) && string(rest) == word[:len(rest)] {
				return 0, errEnd
			}
		}
	}
	return 0, s.unexpected(at, "a value")
}

// Error is the error about an answer in JSON. Its text follows the word "answer".
type Error string

func (e Error) Error() string { return "answer " + string(e) }
func (e Error) Unwrap() error { return jsontext.ErrMalformed }

const (
	errEnd      Error = "is not JSON: it ends too early"
	errTrailing Error = "is not usable: data follows the JSON value (want one value only)"
)

// unexpected is the error about the character at index at.
func (s *scan) unexpected(at int, want string) error {
	if at >= len(s.b) {
		return errEnd
	}
	r, _ := utf8.DecodeRune(s.b[at:])
	return Error("is not JSON at byte " + strconv.Itoa(at+1) + ": " + strconv.QuoteRune(r) + " (want " + want + ")")
}

// appendUnescaped appends the text of a string. A scan must have checked its escapes.
func appendUnescaped(dst, src []byte) []byte {
	for len(src) > 0 {
		n := bytes.IndexByte(src, '\\')
		if n < 0 {
			return append(dst, src...)
		}
		dst, src = append(dst, src[:n]...), src[n:]
		if src[1] != 'u' {
			dst, src = append(dst, jsontext.Unescape(src[1])), src[2:]
			continue
		}
		r, _ := hexUnit(src)
		src = src[6:]
		if utf16.IsSurrogate(r) {
			low, _ := hexUnit(src)
			r, src = utf16.DecodeRune(r, low), src[6:]
		}
		dst = utf8.AppendRune(dst, r)
	}
	return dst
}
