// Package jsontext holds the rules of metadata values, which both lanes share, writes them and
// other parts of documents as JSON, and finds the ends of JSON tokens. Guests compile it, so it
// uses no reflection; only [Decode] uses encoding/json.
package jsontext

import (
	"errors"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// AppendString appends s as a JSON string. Each run of bytes that are not
// UTF-8 becomes one U+FFFD, as strings.ToValidUTF8 does it.
func AppendString(dst []byte, s string) []byte {
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

// AppendFloat appends a finite float, always with a fraction or an
// exponent, so that a reader can tell it from an integer.
func AppendFloat(dst []byte, f float64) []byte {
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

// AppendTime appends t as RFC 3339 in UTC.
func AppendTime(dst []byte, t time.Time) ([]byte, error) {
	if _, err := Nanoseconds(t); err != nil {
		return dst, err
	}
	dst = append(dst, '"')
	dst = t.UTC().AppendFormat(dst, time.RFC3339Nano)
	return append(dst, '"'), nil
}

// AppendValue appends a metadata value.
func AppendValue(dst []byte, v any, depth int) ([]byte, error) {
	if kind, bits, text, err := Scalar(v); err == nil {
		switch kind {
		case KindBool:
			return strconv.AppendBool(dst, bits != 0), nil
		case KindInt:
			return strconv.AppendInt(dst, int64(bits), 10), nil
		case KindFloat:
			return AppendFloat(dst, math.Float64frombits(bits)), nil
		case KindString:
			return AppendString(dst, text), nil
		}
		return append(dst, "null"...), nil
	} else if !errors.Is(err, ErrNested) {
		return dst, err
	}
	if depth >= MaxDepth {
		return dst, ErrDepth
	}
	switch v := v.(type) {
	case map[string]any:
		return AppendObject(dst, v, depth+1)
	case map[string]string:
		m := make(map[string]any, len(v))
		for k, s := range v {
			m[k] = s
		}
		return AppendObject(dst, m, depth+1)
	case []any:
		return appendList(dst, v, depth+1)
	case []string:
		return appendList(dst, v, depth+1)
	case []int:
		return appendList(dst, v, depth+1)
	case []int64:
		return appendList(dst, v, depth+1)
	case []float64:
		return appendList(dst, v, depth+1)
	case interface{ Map() map[string]any }:
		return AppendObject(dst, v.Map(), depth+1)
	}
	return dst, errType
}

func appendList[T any](dst []byte, list []T, depth int) ([]byte, error) {
	var err error
	dst = append(dst, '[')
	for i := range list {
		if i > 0 {
			dst = append(dst, ',')
		}
		if dst, err = AppendValue(dst, list[i], depth); err != nil {
			return dst, err
		}
	}
	return append(dst, ']'), nil
}

// AppendObject appends m with its keys sorted.
func AppendObject(dst []byte, m map[string]any, depth int) ([]byte, error) {
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
		dst = append(AppendString(dst, k), ':')
		if dst, err = AppendValue(dst, m[k], depth); err != nil {
			return dst, AtKey(k, err)
		}
	}
	return append(dst, '}'), nil
}

// Repair returns s with each run of bytes that are not UTF-8 replaced by one
// U+FFFD.
func Repair(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }
