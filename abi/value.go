package abi

import (
	"math"
	"strconv"
	"time"
)

// ValueKind says what a metadata value is. The numbers are those of the batch
// layout.
type ValueKind uint8

// The kinds. KindJSON is the JSON text of a list or an object.
const (
	KindNull ValueKind = iota
	KindBool
	KindInt
	KindFloat
	KindString
	KindJSON
)

// String returns the name of the kind.
func (k ValueKind) String() string {
	names := [...]string{"null", "bool", "i64", "f64", "string", "json"}
	if int(k) < len(names) {
		return names[k]
	}
	return "kind " + strconv.Itoa(int(k))
}

// Value is one metadata value of a batch. Its text aliases the batch.
type Value struct {
	kind ValueKind
	bits uint64
	text string
}

// Kind returns what the value is.
func (v Value) Kind() ValueKind { return v.kind }

// Bool returns the value of a bool.
func (v Value) Bool() (b, ok bool) { return v.bits != 0, v.kind == KindBool }

// Int returns the value of an integer.
func (v Value) Int() (n int64, ok bool) {
	if v.kind != KindInt {
		return 0, false
	}
	return int64(v.bits), true
}

// Float returns the value of a float or an integer.
func (v Value) Float() (f float64, ok bool) {
	switch v.kind {
	case KindFloat:
		return math.Float64frombits(v.bits), true
	case KindInt:
		return float64(int64(v.bits)), true
	}
	return 0, false
}

// Text returns the value of a string.
func (v Value) Text() (s string, ok bool) {
	if v.kind != KindString {
		return "", false
	}
	return v.text, true
}

// JSON returns the JSON text of a list or an object.
func (v Value) JSON() (text string, ok bool) {
	if v.kind != KindJSON {
		return "", false
	}
	return v.text, true
}

// String returns the value as text: a string as it is, anything else as JSON.
func (v Value) String() string {
	switch v.kind {
	case KindBool:
		return strconv.FormatBool(v.bits != 0)
	case KindInt:
		return strconv.FormatInt(int64(v.bits), 10)
	case KindFloat:
		return string(appendJSONFloat(nil, math.Float64frombits(v.bits)))
	case KindString, KindJSON:
		return v.text
	}
	return "null"
}

// errNested says that a value is not a scalar: it is a list, an object or of a type that
// metadata cannot hold.
const errNested valueError = "value is nested"

// number is implemented by encoding/json's Number. The interface keeps that package out of
// the batch lane.
type number interface {
	String() string
	Float64() (float64, error)
	Int64() (int64, error)
}

// scalar classifies v. The error is errNested, errFinite or errNumber.
func scalar(v any) (kind ValueKind, bits uint64, text string, err error) {
	switch v := v.(type) {
	case nil:
		return KindNull, 0, "", nil
	case string:
		return KindString, 0, v, nil
	case int64:
		return KindInt, uint64(v), "", nil
	case float64:
		return floatScalar(v)
	case bool:
		if v {
			return KindBool, 1, "", nil
		}
		return KindBool, 0, "", nil
	case int:
		return KindInt, uint64(int64(v)), "", nil
	case number:
		return numberScalar(v.String())
	}
	return otherScalar(v)
}

// otherScalar classifies the numeric types that decoding JSON never returns.
func otherScalar(v any) (kind ValueKind, bits uint64, text string, err error) {
	switch v := v.(type) {
	case int8:
		return KindInt, uint64(int64(v)), "", nil
	case int16:
		return KindInt, uint64(int64(v)), "", nil
	case int32:
		return KindInt, uint64(int64(v)), "", nil
	case uint:
		return uintScalar(uint64(v))
	case uint8:
		return KindInt, uint64(v), "", nil
	case uint16:
		return KindInt, uint64(v), "", nil
	case uint32:
		return KindInt, uint64(v), "", nil
	case uint64:
		return uintScalar(v)
	case float32:
		return floatScalar(float64(v))
	}
	return 0, 0, "", errNested
}

func uintScalar(v uint64) (ValueKind, uint64, string, error) {
	if v > math.MaxInt64 {
		return floatScalar(float64(v))
	}
	return KindInt, v, "", nil
}

func floatScalar(f float64) (ValueKind, uint64, string, error) {
	if f-f != 0 {
		return 0, 0, "", errFinite
	}
	return KindFloat, math.Float64bits(f), "", nil
}

// numberScalar reads a JSON number: an integer if it is written as one and
// fits, else a float.
func numberScalar(s string) (ValueKind, uint64, string, error) {
	if isInteger(s) {
		if n, err := strconv.ParseInt(s, 10, 64); err == nil {
			return KindInt, uint64(n), "", nil
		}
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil {
		return 0, 0, "", errNumber
	}
	return floatScalar(f)
}

// isInteger reports whether a JSON number has neither fraction nor exponent.
// Minus zero is a float, since integers have none.
func isInteger(s string) bool {
	for i := 0; i < len(s); i++ {
		if c := s[i]; (c < '0' || c > '9') && (c != '-' || i > 0) {
			return false
		}
	}
	return s != "-0"
}

// NoTime is what a created_at column holds for a row without a time.
const NoTime = math.MinInt64

// nanoseconds returns t as the batch holds it.
func nanoseconds(t time.Time) (int64, error) {
	if t.IsZero() {
		return NoTime, nil
	}
	ns := t.UnixNano()
	if ns == NoTime || !time.Unix(0, ns).Equal(t) {
		return 0, errTime
	}
	return ns, nil
}

// timeOf is the inverse of nanoseconds.
func timeOf(ns int64) time.Time {
	if ns == NoTime {
		return time.Time{}
	}
	return time.Unix(0, ns).UTC()
}
