package abi

import (
	"math"
	"strconv"

	"github.com/anchor-host/anchor-host/abi/internal/jsontext"
	"github.com/anchor-host/anchor-host/abi/internal/layout"
)

// ValueKind is the kind of a metadata value. The numbers are those of the batch layout.
type ValueKind uint8

// The kinds. KindJSON is the JSON text of a list or an object.
const (
	KindNull   = ValueKind(jsontext.KindNull)
	KindBool   = ValueKind(jsontext.KindBool)
	KindInt    = ValueKind(jsontext.KindInt)
	KindFloat  = ValueKind(jsontext.KindFloat)
	KindString = ValueKind(jsontext.KindString)
	KindJSON   = ValueKind(jsontext.KindJSON)
)

// String returns the name of the kind.
func (k ValueKind) String() string { return jsontext.Kind(k).String() }

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
		return string(jsontext.AppendFloat(nil, math.Float64frombits(v.bits)))
	case KindString, KindJSON:
		return v.text
	}
	return "null"
}

// valueOf returns the value of entry e.
func valueOf(v *layout.MetaView, e uint32) Value {
	k, bits, text := v.Value(e)
	return Value{ValueKind(k), bits, text}
}

// NoTime is the value of a created_at column for a row without a time.
const NoTime = jsontext.NoTime
