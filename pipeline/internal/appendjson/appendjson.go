// Package appendjson appends JSON to a buffer, byte for byte as package encoding/json writes it.
// A type whose MarshalJSON calls encoding/json has its bytes checked and copied once more for each
// object around it. A type that appends has them written once.
package appendjson

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"time"
	"unicode/utf8"
)

// Buffer is JSON that grows.
type Buffer struct {
	// B is what was written so far.
	B []byte
	// Err is the first error. B is then of no use.
	Err error
}

// Begin begins an object.
func (b *Buffer) Begin() { b.B = append(b.B, '{') }

// End ends an object.
func (b *Buffer) End() { b.B = append(b.B, '}') }

// Key begins a member of an object. name needs no escapes.
func (b *Buffer) Key(name string) {
	if b.B[len(b.B)-1] != '{' {
		b.B = append(b.B, ',')
	}
	b.B = append(b.B, '"')
	b.B = append(b.B, name...)
	b.B = append(b.B, '"', ':')
}

// Append writes what a function appends.
func (b *Buffer) Append(appendTo func(dst []byte) ([]byte, error)) {
	dst, err := appendTo(b.B)
	if err != nil {
		b.fail(err)
		return
	}
	b.B = dst
}

func (b *Buffer) fail(err error) {
	if b.Err == nil {
		b.Err = err
	}
}

// Bool writes true or false.
func (b *Buffer) Bool(v bool) { b.B = strconv.AppendBool(b.B, v) }

// Int writes a number.
func (b *Buffer) Int(n int64) { b.B = strconv.AppendInt(b.B, n, 10) }

// SomeInt writes a member with a number, unless it is 0.
func (b *Buffer) SomeInt(name string, n int64) {
	if n != 0 {
		b.Key(name)
		b.Int(n)
	}
}

// SomeText writes a member with a text as Text does, unless it is empty.
func (b *Buffer) SomeText(name, s string) {
	if s != "" {
		b.Key(name)
		b.Text(s)
	}
}

// Float writes a number. It fails if f is not finite.
func (b *Buffer) Float(f float64) {
	if math.IsInf(f, 0) || math.IsNaN(f) {
		b.fail(fmt.Errorf("json: unsupported value: %v", f))
		return
	}
	form := byte('f')
	if abs := math.Abs(f); abs != 0 && (abs < 1e-6 || abs >= 1e21) {
		form = 'e'
	}
	b.B = strconv.AppendFloat(b.B, f, form, -1, 64)
	if n := len(b.B); form == 'e' && n >= 4 && b.B[n-4] == 'e' && b.B[n-3] == '-' && b.B[n-2] == '0' {
		b.B[n-2] = b.B[n-1] // e-09 becomes e-9
		b.B = b.B[:n-1]
	}
}

// Time writes a time. It fails if RFC 3339 cannot state it.
func (b *Buffer) Time(t time.Time) {
	b.B = append(b.B, '"')
	b.Append(t.AppendText)
	b.B = append(b.B, '"')
}

// asIs are the characters of ASCII that stand in a JSON text as they are. inHTML are those that HTML
// would read.
var (
	asIs   [utf8.RuneSelf]bool
	inHTML = [utf8.RuneSelf]bool{'<': true, '>': true, '&': true}
)

func init() {
	for c := byte(' '); c < utf8.RuneSelf; c++ {
		asIs[c] = c != '"' && c != '\\'
	}
}

// Text writes a text as [json.Marshal] does: with escapes for <, > and &.
func (b *Buffer) Text(s string) { b.text(s, true) }

// PlainText writes a text as an encoder without escapes for HTML does.
func (b *Buffer) PlainText(s string) { b.text(s, false) }

func (b *Buffer) text(s string, html bool) {
	dst := append(b.B, '"')
	start := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c < utf8.RuneSelf {
			if !asIs[c] || html && inHTML[c] {
				dst = appendEscape(append(dst, s[start:i]...), c)
				start = i + 1
			}
			i++
			continue
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			dst = append(append(dst, s[start:i]...), `\ufffd`...)
			start = i + size
		case r == '\u2028' || r == '\u2029':
			dst = append(append(dst, s[start:i]...), `\u202`...)
			dst = append(dst, '8'+byte(r-'\u2028'))
			start = i + size
		}
		i += size
	}
	b.B = append(append(dst, s[start:]...), '"')
}

func appendEscape(dst []byte, c byte) []byte {
	const hex = "0123456789abcdef"
	switch c {
	case '"', '\\':
		return append(dst, '\\', c)
	case '\b':
		return append(dst, '\\', 'b')
	case '\f':
		return append(dst, '\\', 'f')
	case '\n':
		return append(dst, '\\', 'n')
	case '\r':
		return append(dst, '\\', 'r')
	case '\t':
		return append(dst, '\\', 't')
	}
	return append(dst, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
}

// maxDepth is from where encoding/json writes a value, which notices one that contains itself.
const maxDepth = 64

// Metadata writes metadata, and no metadata as an empty object.
func (b *Buffer) Metadata(m map[string]any) { b.object(m, 0) }

func (b *Buffer) object(m map[string]any, depth int) {
	b.Begin()
	for i, key := range slices.Sorted(maps.Keys(m)) {
		if i > 0 {
			b.B = append(b.B, ',')
		}
		b.Text(key)
		b.B = append(b.B, ':')
		b.value(m[key], depth+1)
	}
	b.End()
}

func (b *Buffer) value(v any, depth int) {
	switch v := v.(type) {
	case nil:
		b.B = append(b.B, "null"...)
		return
	case bool:
		b.Bool(v)
		return
	case int64:
		b.Int(v)
		return
	case float64:
		b.Float(v)
		return
	case string:
		b.Text(v)
		return
	case []any:
		if v != nil && depth < maxDepth {
			List(b, v, func(b *Buffer, v *any) { b.value(*v, depth+1) })
			return
		}
	case map[string]any:
		if v != nil && depth < maxDepth {
			b.object(v, depth)
			return
		}
	}
	b.Other(v)
}

// Other writes a value of any type as [json.Marshal] does.
func (b *Buffer) Other(v any) {
	data, err := json.Marshal(v)
	if err != nil {
		b.fail(err)
		return
	}
	b.B = append(b.B, data...)
}

// PlainOther writes a value of any type as an encoder without escapes for HTML does.
func (b *Buffer) PlainOther(v any) {
	out := bytes.NewBuffer(b.B)
	enc := json.NewEncoder(out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		b.fail(err)
		return
	}
	b.B = bytes.TrimSuffix(out.Bytes(), []byte("\n"))
}

// List writes a list, also if it is nil.
func List[T any](b *Buffer, list []T, one func(*Buffer, *T)) {
	b.B = append(b.B, '[')
	for i := range list {
		if i > 0 {
			b.B = append(b.B, ',')
		}
		one(b, &list[i])
	}
	b.B = append(b.B, ']')
}
