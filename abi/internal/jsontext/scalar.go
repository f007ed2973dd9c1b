package jsontext

import (
	"math"
	"strconv"
	"time"
)

// Kind is the kind of a metadata value. The numbers are those of the batch layout.
type Kind uint8

// The kinds. KindJSON is the JSON text of a list or an object.
const (
	KindNull Kind = iota
	KindBool
	KindInt
	KindFloat
	KindString
	KindJSON
)

// String returns the name of the kind.
func (k Kind) String() string {
	names := [...]string{"null", "bool", "i64", "f64", "string", "json"}
	if int(k) < len(names) {
		return names[k]
	}
	return "kind " + strconv.Itoa(int(k))
}

// ErrNested says that a value is not a scalar: it is a list, an object or of a type that
// metadata cannot hold.
const ErrNested ValueError = "value is nested"

// number is implemented by encoding/json's Number. The interface keeps that package out of
// the batch lane.
type number interface {
	String() string
	Float64() (float64, error)
	Int64() (int64, error)
}

// Scalar classifies v. The error is ErrNested, ErrFinite or errNumber.
func Scalar(v any) (k Kind, bits uint64, text string, err error) {
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
func otherScalar(v any) (k Kind, bits uint64, text string, err error) {
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
	return 0, 0, "", ErrNested
}

func uintScalar(v uint64) (Kind, uint64, string, error) {
	if v > math.MaxInt64 {
		return floatScalar(float64(v))
	}
	return KindInt, v, "", nil
}

func floatScalar(f float64) (Kind, uint64, string, error) {
	if f-f != 0 {
		return 0, 0, "", ErrFinite
	}
	return KindFloat, math.Float64bits(f), "", nil
}

// numberScalar reads a JSON number: an integer if it is written as one and
// fits, else a float.
func numberScalar(s string) (Kind, uint64, string, error) {
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

// NoTime is the value of a created_at column for a row without a time.
const NoTime = math.MinInt64

// Nanoseconds returns t as the batch holds it.
func Nanoseconds(t time.Time) (int64, error) {
	if t.IsZero() {
		return NoTime, nil
	}
	ns := t.UnixNano()
	if ns == NoTime || !time.Unix(0, ns).Equal(t) {
		return 0, errTime
	}
	return ns, nil
}

// Time is the inverse of nanoseconds.
func Time(ns int64) time.Time {
	if ns == NoTime {
		return time.Time{}
	}
	return time.Unix(0, ns).UTC()
}
