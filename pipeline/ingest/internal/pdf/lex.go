package pdf

import (
	"bytes"
	"strconv"
)

// The types of objects, besides float64, bool, nil, []any and dict.
type (
	name string
	text []byte
	ref  int
	op   string
	dict map[string]any
)

// lexer reads objects.
type lexer struct {
	data  []byte
	pos   int
	depth int
}

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

// next returns the next object, operator or closing bracket. It is false at the end.
func (l *lexer) next() (any, bool) {
	l.skip()
	if l.pos >= len(l.data) {
		return nil, false
	}
	switch c := l.data[l.pos]; c {
	case '/':
		l.pos++
		return l.name(), true
	case '(':
		return l.literal(), true
	case '<':
		if l.pos+1 < len(l.data) && l.data[l.pos+1] == '<' {
			l.pos += 2
			return l.dict(), true
		}
		return l.hex(), true
	case '[':
		l.pos++
		return l.array(), true
	case '>':
		l.pos++
		if l.pos < len(l.data) && l.data[l.pos] == '>' {
			l.pos++
		}
		return closing('>'), true
	case ']', '{', '}', ')':
		l.pos++
		return closing(c), true
	}
	start := l.pos
	for l.pos < len(l.data) && !delimiter(l.data[l.pos]) {
		l.pos++
	}
	return l.word(string(l.data[start:l.pos])), true
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

func (l *lexer) literal() text {
	l.pos++
	var out []byte
	for depth := 1; l.pos < len(l.data); l.pos++ {
		c := l.data[l.pos]
		switch c {
		case '(':
			depth++
		case ')':
			if depth--; depth == 0 {
				l.pos++
				return out
			}
		case '\\':
			out = l.escape(out)
			continue
		}
		out = append(out, c)
	}
	return out
}

// escape reads what follows a backslash, and leaves pos at its last byte.
func (l *lexer) escape(out []byte) []byte {
	l.pos++
	if l.pos >= len(l.data) {
		return out
	}
	switch c := l.data[l.pos]; c {
	case 'n':
		return append(out, '\n')
	case 'r':
		return append(out, '\r')
	case 't':
		return append(out, '\t')
	case 'b', 'f':
		return append(out, ' ')
	case '\r':
		if l.pos+1 < len(l.data) && l.data[l.pos+1] == '\n' {
			l.pos++
		}
		return out
	case '\n':
		return out
	default:
		if c < '0' || c > '7' {
			return append(out, c)
		}
		v := 0
		for i := 0; i < 3 && l.pos < len(l.data) && l.data[l.pos] >= '0' && l.data[l.pos] <= '7'; i++ {
			v = v*8 + int(l.data[l.pos]-'0')
			l.pos++
		}
		l.pos--
		return append(out, byte(v))
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
	var out []byte
	half, have := byte(0), false
	for ; l.pos < len(l.data); l.pos++ {
		c := l.data[l.pos]
		if c == '>' {
			l.pos++
			break
		}
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
		list = append(list, v)
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
		d[string(n)] = v
	}
}
