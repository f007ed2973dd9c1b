package pdf

import (
	"bytes"
	"strconv"

	"github.com/anchor-host/anchor-host/pipeline/ingest/meter"
)

// The types of objects, besides float64, bool, nil, []any and dict.
type (
	name string
	text []byte
	ref  int
	op   string
	dict map[string]any
)

// lexer reads objects. The meter pays for them.
type lexer struct {
	m     *meter.Meter
	data  []byte
	pos   int
	depth int
}

// The memory of objects, about: of any of them, of a dictionary that is not empty, and of a further
// entry.
const (
	objectBytes = 24
	dictBytes   = 352
	entryBytes  = 80
)

func space(c byte) bool {
	return c == ' ' || c == '\n' || c == '\r' || c == '\t' || c == '\f' || c == 0
}

func delimiter(c byte) bool {
	switch c {
	case '(', ')', '<', '>', '[', ']', '{', '}', '/', '%':
		return true
	}
	return space(c)
}

func (l *lexer) skip() {
	for l.pos < len(l.data) {
		switch c := l.data[l.pos]; {
		case space(c):
			l.pos++
		case c == '%':
			for l.pos < len(l.data) && l.data[l.pos] != '\n' && l.data[l.pos] != '\r' {
				l.pos++
			}
		default:
			return
		}
	}
}

type closing byte

// next returns the next object, operator or closing bracket. It is false at the end, and once the
// meter has no more.
func (l *lexer) next() (any, bool) {
	start := l.pos
	l.skip()
	if l.pos >= len(l.data) || !l.m.Take(objectBytes) {
		return nil, false
	}
	v := l.object()
	return v, l.m.Work(4 + l.pos - start)
}

func (l *lexer) object() any {
	switch c := l.data[l.pos]; c {
	case '/':
		l.pos++
		return l.name()
	case '(':
		return l.literal()
	case '<':
		if l.pos+1 < len(l.data) && l.data[l.pos+1] == '<' {
			l.pos += 2
			return l.dict()
		}
		return l.hex()
	case '[':
		l.pos++
		return l.array()
	case '>':
		l.pos++
		if l.pos < len(l.data) && l.data[l.pos] == '>' {
			l.pos++
		}
		return closing('>')
	case ']', '{', '}', ')':
		l.pos++
		return closing(c)
	}
	start := l.pos
	for l.pos < len(l.data) && !delimiter(l.data[l.pos]) {
		l.pos++
	}
	if !l.m.Take(l.pos - start) {
		return nil
	}
	return l.word(string(l.data[start:l.pos]))
}

func (l *lexer) word(w string) any {
	switch w {
	case "true":
		return true
	case "false":
		return false
	case "null":
		return nil
	}
	c := w[0]
	if c >= '0' && c <= '9' || c == '-' || c == '+' || c == '.' {
		if f, err := strconv.ParseFloat(w, 64); err == nil {
			if c >= '0' && c <= '9' {
				if n, ok := l.reference(w); ok {
					return n
				}
			}
			return f
		}
	}
	return op(w)
}

// reference reads the rest of "12 0 R".
func (l *lexer) reference(w string) (ref, bool) {
	n, err := strconv.Atoi(w)
	if err != nil {
		return 0, false
	}
	p := l.pos
	for p < len(l.data) && p < l.pos+4 && space(l.data[p]) {
		p++
	}
	digits := p
	for p < len(l.data) && p < digits+5 && l.data[p] >= '0' && l.data[p] <= '9' {
		p++
	}
	if p == digits || p+1 >= len(l.data) || !space(l.data[p]) || l.data[p+1] != 'R' || p+2 < len(l.data) && !delimiter(l.data[p+2]) {
		return 0, false
	}
	l.pos = p + 2
	return ref(n), true
}

func (l *lexer) name() name {
	start := l.pos
	for l.pos < len(l.data) && !delimiter(l.data[l.pos]) {
		l.pos++
	}
	raw := l.data[start:l.pos]
	if !l.m.Take(16 + 2*len(raw)) {
		return ""
	}
	if bytes.IndexByte(raw, '#') < 0 {
		return name(raw)
	}
	out := make([]byte, 0, len(raw))
	for i := 0; i < len(raw); i++ {
		if raw[i] == '#' && i+2 < len(raw) {
			if v, err := strconv.ParseUint(string(raw[i+1:i+3]), 16, 8); err == nil {
				out = append(out, byte(v))
				i += 2
				continue
			}
		}
		out = append(out, raw[i])
	}
	return name(out)
}

// literal reads a text in parentheses. One without escapes stays where it is.
func (l *lexer) literal() text {
	l.pos++
	start := l.pos
	var out []byte
	for depth := 1; l.pos < len(l.data); l.pos++ {
		c := l.data[l.pos]
		switch c {
		case '(':
			depth++
		case ')':
			if depth--; depth == 0 {
				l.pos++
				if out == nil {
					return l.data[start : l.pos-1 : l.pos-1]
				}
				return out
			}
		case '\\':
			if out == nil {
				room, ok := meter.Room(l.m, out, l.pos-start+16)
				if !ok {
					return nil
				}
				out = append(room, l.data[start:l.pos]...)
			}
			if c, ok := l.escape(); ok {
				out = meter.Append(l.m, out, c)
			}
			continue
		}
		if out != nil {
			out = meter.Append(l.m, out, c)
		}
	}
	l.pos = len(l.data)
	if out == nil {
		return l.data[start:]
	}
	return out
}

// escape reads what follows a backslash, and leaves pos at its last byte. It is false for the end of
// a line.
func (l *lexer) escape() (byte, bool) {
	l.pos++
	if l.pos >= len(l.data) {
		return 0, false
	}
	switch c := l.data[l.pos]; c {
	case 'n':
		return '\n', true
	case 'r':
		return '\r', true
	case 't':
		return '\t', true
	case 'b':
		return '\b', true
	case 'f':
		return '\f', true
	case '\r':
		if l.pos+1 < len(l.data) && l.data[l.pos+1] == '\n' {
			l.pos++
		}
		return 0, false
	case '\n':
		return 0, false
	default:
		if c < '0' || c > '7' {
			return c, true
		}
		v := 0
		for i := 0; i < 3 && l.pos < len(l.data) && l.data[l.pos] >= '0' && l.data[l.pos] <= '7'; i++ {
			v = v*8 + int(l.data[l.pos]-'0')
			l.pos++
		}
		l.pos--
		return byte(v), true
	}
}

func hexDigit(c byte) (byte, bool) {
	switch {
	case c >= '0' && c <= '9':
		return c - '0', true
	case c >= 'a' && c <= 'f':
		return c - 'a' + 10, true
	case c >= 'A' && c <= 'F':
		return c - 'A' + 10, true
	}
	return 0, false
}

func (l *lexer) hex() text {
	l.pos++
	raw := l.data[l.pos:]
	if i := bytes.IndexByte(raw, '>'); i >= 0 {
		raw = raw[:i]
		l.pos++
	}
	l.pos += len(raw)
	return decodeHex(l.m, raw)
}

func decodeHex(m *meter.Meter, raw []byte) []byte {
	if !m.Take(len(raw)/2+1) || !m.Work(len(raw)) {
		return nil
	}
	out := make([]byte, 0, len(raw)/2+1)
	half, have := byte(0), false
	for _, c := range raw {
		v, ok := hexDigit(c)
		switch {
		case !ok:
		case have:
			out, have = append(out, half<<4|v), false
		default:
			half, have = v, true
		}
	}
	if have {
		out = append(out, half<<4)
	}
	return out
}

func (l *lexer) array() []any {
	var list []any
	if l.depth++; l.depth > maxDepth {
		l.pos = len(l.data)
		return nil
	}
	defer func() { l.depth-- }()
	for {
		v, ok := l.next()
		if !ok || v == closing(']') {
			return list
		}
		switch v.(type) {
		case op, closing: // not in an array: the file is damaged here
			return list
		}
		list = meter.Append(l.m, list, v)
	}
}

func (l *lexer) dict() dict {
	d := dict{}
	if l.depth++; l.depth > maxDepth {
		l.pos = len(l.data)
		return d
	}
	defer func() { l.depth-- }()
	for {
		k, ok := l.next()
		n, isName := k.(name)
		if !ok || !isName {
			return d
		}
		v, ok := l.next()
		if !ok {
			return d
		}
		switch v.(type) {
		case op, closing:
			return d
		}
		switch len(d) {
		case 0:
			l.m.Take(dictBytes)
		default:
			l.m.Take(entryBytes)
		}
		d[string(n)] = v
	}
}
