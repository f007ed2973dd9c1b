package abi

import (
	"errors"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// MaxDepth is how deep lists and objects in a metadata value may nest.
const MaxDepth = 64

// ErrUnsupported is wrapped by errors about values that a batch or a document cannot
// hold.
var ErrUnsupported = errors.New("unsupported value")

// valueError says why a value is unsupported.
type valueError string

func (e valueError) Error() string { return string(e) }
func (e valueError) Unwrap() error { return ErrUnsupported }

const (
	errType   valueError = "value has an unsupported type (want nil, bool, integer, float, string, []any, map[string]any)"
	errFinite valueError = "number is not finite (want a finite float)"
	errNumber valueError = "number is malformed or beyond the range of a float (want a JSON number)"
	errDepth  valueError = "value nests deeper than 64 levels (flatten it)"
	errTime   valueError = "time is outside the years 1678 to 2262 (want one that fits 64-bit nanoseconds)"
)

// appendJSONString appends s as a JSON string. Each run of bytes that are not
// UTF-8 becomes one U+FFFD, as strings.ToValidUTF8 does it.
func appendJSONString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	start := 0
	for i := 0; i < len(s); {
		if c := s[i]; c < utf8.RuneSelf {
			if c >= ' ' && c != '"' && c != '\\' {
				i++
				continue
			}
			dst = append(dst, s[start:i]...)
			dst = appendEscape(dst, c)
			i++
			start = i
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		if r != utf8.RuneError || n > 1 {
			i += n
			continue
		}
		dst = append(dst, s[start:i]...)
		dst = append(dst, "\uFFFD"...)
		i += invalidRun(s[i:])
		start = i
	}
	dst = append(dst, s[start:]...)
	return append(dst, '"')
}

// invalidRun is the length of the run of invalid bytes that s begins with.
func invalidRun(s string) int {
	i := 0
	for i < len(s) {
		r, n := utf8.DecodeRuneInString(s[i:])
		if r != utf8.RuneError || n > 1 {
			break
		}
		i++
	}
	return i
}

func appendEscape(dst []byte, c byte) []byte {
	const hex = "0123456789abcdef"
	switch c {
	case '"', '\\':
		return append(dst, '\\', c)
	case '\n':
		return append(dst, '\\', 'n')
	case '\r':
		return append(dst, '\\', 'r')
	case '\t':
		return append(dst, '\\', 't')
	}
	return append(dst, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
}

// appendJSONFloat appends a finite float, always with a fraction or an
// exponent, so that a reader can tell it from an integer.
func appendJSONFloat(dst []byte, f float64) []byte {
	format := byte('f')
	if a := math.Abs(f); a != 0 && (a < 1e-6 || a >= 1e21) {
		format = 'e'
	}
	start := len(dst)
	dst = strconv.AppendFloat(dst, f, format, -1, 64)
	for _, c := range dst[start:] {
		if c == '.' || c == 'e' {
			return dst
		}
	}
	return append(dst, '.', '0')
}

// appendJSONTime appends t as RFC 3339 in UTC.
func appendJSONTime(dst []byte, t time.Time) ([]byte, error) {
	if _, err := nanoseconds(t); err != nil {
		return dst, err
	}
	dst = append(dst, '"')
	dst = t.UTC().AppendFormat(dst, time.RFC3339Nano)
	return append(dst, '"'), nil
}

// appendJSONValue appends a metadata value.
func appendJSONValue(dst []byte, v any, depth int) ([]byte, error) {
	if kind, bits, text, err := scalar(v); err == nil {
		switch kind {
		case KindBool:
			return strconv.AppendBool(dst, bits != 0), nil
		case KindInt:
			return strconv.AppendInt(dst, int64(bits), 10), nil
		case KindFloat:
			return appendJSONFloat(dst, math.Float64frombits(bits)), nil
		case KindString:
			return appendJSONString(dst, text), nil
		}
		return append(dst, "null"...), nil
	} else if !errors.Is(err, errNested) {
		return dst, err
	}
	if depth >= MaxDepth {
		return dst, errDepth
	}
	switch v := v.(type) {
	case map[string]any:
		return appendJSONObject(dst, v, depth+1)
	case Metadata:
		return appendJSONObject(dst, v, depth+1)
	case map[string]string:
		m := make(map[string]any, len(v))
		for k, s := range v {
			m[k] = s
		}
		return appendJSONObject(dst, m, depth+1)
	case []any:
		return appendJSONList(dst, v, depth+1)
	case []string:
		return appendJSONList(dst, v, depth+1)
	case []int:
		return appendJSONList(dst, v, depth+1)
	case []int64:
		return appendJSONList(dst, v, depth+1)
	case []float64:
		return appendJSONList(dst, v, depth+1)
	}
	return dst, errType
}

func appendJSONList[T any](dst []byte, list []T, depth int) ([]byte, error) {
	var err error
	dst = append(dst, '[')
	for i := range list {
		if i > 0 {
			dst = append(dst, ',')
		}
		if dst, err = appendJSONValue(dst, list[i], depth); err != nil {
			return dst, err
		}
	}
	return append(dst, ']'), nil
}

// appendJSONObject appends m with its keys sorted.
func appendJSONObject(dst []byte, m map[string]any, depth int) ([]byte, error) {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	var err error
	dst = append(dst, '{')
	for i, k := range keys {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(appendJSONString(dst, k), ':')
		if dst, err = appendJSONValue(dst, m[k], depth); err != nil {
			return dst, keyError{k, err}
		}
	}
	return append(dst, '}'), nil
}

// keyError names the key of an object whose value is wrong.
type keyError struct {
	key string
	err error
}

func (e keyError) Error() string { return quote(e.key) + ": " + e.err.Error() }
func (e keyError) Unwrap() error { return e.err }

// repair returns s with each run of bytes that are not UTF-8 replaced by one
// U+FFFD.
func repair(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }
