// Package decode reads JSON documents strictly: unknown keys, keys that are given twice and
// values of another type are errors. An integer keeps all of its 64 bits.
package decode

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/anchor-host/anchor-host/internal/plain"
)

// ErrInvalid marks a value outside its bounds.
var ErrInvalid = errors.New("invalid value")

// Object calls field for each member of the JSON object in data. A key that
// is given twice is an error; a key that field does not know is for field to
// refuse.
func Object(data []byte, field func(key string, raw json.RawMessage) error) error {
	dec := json.NewDecoder(bytes.NewReader(data))
	if tok, err := dec.Token(); err != nil {
		return err
	} else if tok != json.Delim('{') {
		return fmt.Errorf("%.20s: %w (want an object)", data, ErrInvalid)
	}
	seen := make(map[string]bool)
	for dec.More() {
		tok, err := dec.Token()
		if err != nil {
			return err
		}
		key, _ := tok.(string)
		var raw json.RawMessage
		if err := dec.Decode(&raw); err != nil {
			return fmt.Errorf("%s: %w", plain.Name(key), err)
		}
		if seen[key] {
			return fmt.Errorf("%s: given twice: %w", plain.Name(key), ErrInvalid)
		}
		seen[key] = true
		if err := field(key, raw); err != nil {
			return fmt.Errorf("%s: %w", plain.Name(key), err)
		}
	}
	if _, err := dec.Token(); err != nil {
		return err
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return fmt.Errorf("data after the object: %w", ErrInvalid)
	}
	return nil
}

// UnknownKey is the error for a key that is none of the known ones.
func UnknownKey(known ...string) error {
	return fmt.Errorf("unknown key: %w (want one of %s)", ErrInvalid, strings.Join(known, ", "))
}

// IsNull reports whether raw is the JSON null, which means "not given".
func IsNull(raw json.RawMessage) bool { return string(raw) == "null" }

// String decodes a string.
func String(raw json.RawMessage, to *string) error {
	if IsNull(raw) || len(raw) == 0 || raw[0] != '"' {
		return fmt.Errorf("%.20s: %w (want a string)", raw, ErrInvalid)
	}
	return json.Unmarshal(raw, to)
}

// Int takes integers, also written as 5.0 or 5e0.
func Int(raw json.RawMessage, to *int) error {
	if n, err := strconv.Atoi(string(raw)); err == nil {
		*to = n
		return nil
	}
	var f float64
	if err := Float(raw, &f); err != nil || f != math.Trunc(f) || math.Abs(f) > 1<<53 {
		return fmt.Errorf("%.20s: %w (want an integer)", raw, ErrInvalid)
	}
	*to = int(f)
	return nil
}

// Float decodes a number.
func Float(raw json.RawMessage, to *float64) error {
	if len(raw) == 0 || raw[0] != '-' && (raw[0] < '0' || raw[0] > '9') {
		return fmt.Errorf("%.20s: %w (want a number)", raw, ErrInvalid)
	}
	f, err := strconv.ParseFloat(string(raw), 64)
	if err != nil {
		return fmt.Errorf("%.20s: %w (want a number within float64)", raw, ErrInvalid)
	}
	*to = f
	return nil
}

// Time decodes a time as RFC 3339 writes it.
func Time(raw json.RawMessage, to *time.Time) error {
	var s string
	if err := String(raw, &s); err != nil {
		return err
	}
	t, err := time.Parse(time.RFC3339Nano, s)
	if err != nil {
		return fmt.Errorf("%.40q: %w (want a time in RFC 3339)", s, ErrInvalid)
	}
	*to = t
	return nil
}

// Metadata decodes an object into the kinds that metadata may hold: nil,
// bool, int64, float64, string, []any and map[string]any. An integer that no
// int64 holds is an error, because rounding it would change it.
func Metadata(raw json.RawMessage, to *map[string]any) error {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var doc any
	if err := dec.Decode(&doc); err != nil {
		return err
	}
	m, ok := doc.(map[string]any)
	if !ok {
		return fmt.Errorf("%.20s: %w (want an object)", raw, ErrInvalid)
	}
	if err := convertNumbers(m); err != nil {
		return err
	}
	*to = m
	return nil
}

func convertNumbers(m map[string]any) error {
	for k, v := range m {
		n, err := convertNumber(v)
		if err != nil {
			return fmt.Errorf("%s: %w", plain.Name(k), err)
		}
		m[k] = n
	}
	return nil
}

func convertNumber(v any) (any, error) {
	switch v := v.(type) {
	case map[string]any:
		return v, convertNumbers(v)
	case []any:
		for i := range v {
			n, err := convertNumber(v[i])
			if err != nil {
				return nil, err
			}
			v[i] = n
		}
	case json.Number:
		return parseNumber(string(v))
	}
	return v, nil
}

func parseNumber(s string) (any, error) {
	if !strings.ContainsAny(s, ".eE") {
		n, err := strconv.ParseInt(s, 10, 64)
		if err != nil {
			return nil, fmt.Errorf("%.40s: %w (want an integer within 64 bits; write it as a string)", s, ErrInvalid)
		}
		return n, nil
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil {
		return nil, fmt.Errorf("%.40s: %w (want a number within float64)", s, ErrInvalid)
	}
	return f, nil
}

// CheckKey refuses a key that is not known, unless open is set: for a value of null, which
// stands for nothing.
func CheckKey(key string, known []string, open bool) error {
	for _, k := range known {
		if k == key {
			return nil
		}
	}
	if open {
		return nil
	}
	return UnknownKey(known...)
}

var errNotInt64 = errors.New("want an integer within 64 bits")

// Int64 decodes an integer of 64 bits.
func Int64(raw json.RawMessage, to *int64) error {
	v, err := parseNumber(string(raw))
	n, ok := v.(int64)
	if err != nil || !ok {
		return fmt.Errorf("%.20s: %w (%w)", raw, ErrInvalid, errNotInt64)
	}
	*to = n
	return nil
}

// Strings refuses what json.Unmarshal would take for an empty string.
func Strings(raw json.RawMessage, to *[]string) error {
	var parts []json.RawMessage
	if err := json.Unmarshal(raw, &parts); err != nil {
		return fmt.Errorf("%.20s: %w (want a list of strings)", raw, ErrInvalid)
	}
	out := make([]string, len(parts))
	for i := range parts {
		if err := String(parts[i], &out[i]); err != nil {
			return fmt.Errorf("[%d]: %w", i, err)
		}
	}
	*to = out
	return nil
}
