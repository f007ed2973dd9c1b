package msgtest

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

type (
	member struct {
		name  string
		value any
	}
	obj []member // an object, in the order of its members
	arr []any    // a list
	raw string   // JSON as it is, such as a number in an unusual form
)

// writer writes JSON, in an odd way if asked: members in any order, white space anywhere,
// needless escapes.
type writer struct {
	r   *rand.Rand
	odd bool
	b   strings.Builder
}

func (w *writer) value(v any) {
	switch v := v.(type) {
	case obj:
		if w.odd && w.r.IntN(4) == 0 {
			v = slices.Clone(v)
			w.r.Shuffle(len(v), func(i, j int) { v[i], v[j] = v[j], v[i] })
		}
		w.sequence('{', '}', len(v), func(i int) {
			w.text(v[i].name)
			w.space()
			w.b.WriteByte(':')
			w.space()
			w.value(v[i].value)
		})
	case arr:
		w.sequence('[', ']', len(v), func(i int) { w.value(v[i]) })
	case raw:
		w.b.WriteString(string(v))
	case string:
		w.text(v)
	case int:
		w.b.WriteString(strconv.Itoa(v))
	case bool:
		w.b.WriteString(strconv.FormatBool(v))
	case nil:
		w.b.WriteString("null")
	default:
		panic(fmt.Sprintf("msgtest: write %T", v))
	}
}

func (w *writer) sequence(open, shut byte, n int, element func(int)) {
	w.b.WriteByte(open)
	for i := range n {
		if i > 0 {
			w.b.WriteByte(',')
		}
		w.space()
		element(i)
	}
	w.space()
	w.b.WriteByte(shut)
}

func (w *writer) space() {
	if w.odd && w.r.IntN(8) == 0 {
		w.b.WriteString([]string{" ", "\n  ", "\t", "\r\n", "   "}[w.r.IntN(5)])
	}
}

// text writes a string. Outside of odd bodies only what has to be escaped is.
func (w *writer) text(s string) {
	escapes := w.odd && w.r.IntN(6) == 0
	w.b.WriteByte('"')
	for _, c := range s {
		switch {
		case escapes && w.r.IntN(5) == 0:
			w.escape(c)
		case escapes && c == '/':
			w.b.WriteString(`\/`)
		case c == '"' || c == '\\':
			w.b.WriteByte('\\')
			w.b.WriteRune(c)
		case c == '\n':
			w.b.WriteString(`\n`)
		case c < 0x20:
			w.escape(c)
		default:
			w.b.WriteRune(c)
		}
	}
	w.b.WriteByte('"')
}

// escape writes a character as \uXXXX, or as two of them.
func (w *writer) escape(c rune) {
	form := []string{`\u%04x`, `\u%04X`}[w.r.IntN(2)]
	if c < 0x10000 || c > utf8.MaxRune {
		fmt.Fprintf(&w.b, form, c)
		return
	}
	c -= 0x10000
	fmt.Fprintf(&w.b, form+form, 0xd800+c>>10, 0xdc00+c&0x3ff)
}
