package abi

import (
	"errors"

	"github.com/anchor-host/anchor-host/abi/internal/jsontext"
)

// Metadata is a set of named values: nil, bool, int64, float64, string, and
// []any and map[string]any of them. In JSON a number without fraction or exponent decodes
// as int64, or as float64 if it is out of range. A float is always written with a fraction
// or an exponent. So both keep their type when they are encoded and decoded.
type Metadata map[string]any

// Map returns m without its type.
func (m Metadata) Map() map[string]any { return m }

// MarshalJSON writes m with sorted keys. The error for a value of a type that [Metadata]
// does not allow wraps [ErrUnsupported].
func (m Metadata) MarshalJSON() ([]byte, error) {
	if m == nil {
		return []byte("null"), nil
	}
	return jsontext.AppendObject(nil, m, 0)
}

// UnmarshalJSON reads an object, or null as nil.
func (m *Metadata) UnmarshalJSON(b []byte) error {
	v, err := jsontext.Decode(b)
	if err != nil {
		return err
	}
	switch v := v.(type) {
	case nil:
		*m = nil
	case map[string]any:
		*m = v
	default:
		return errors.New("metadata is not an object (want {\"key\": value})")
	}
	return nil
}
