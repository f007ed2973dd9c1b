// Package settings decodes settings into the struct the author declares, once
// for as long as the bytes stay the same.
package settings

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// Cache holds the settings last decoded. The zero value is ready.
type Cache[S any] struct {
	raw   []byte
	value *S
}

// Get returns raw decoded. The pointer is the same from call to call while raw
// is, so an author may keep derived values in unexported fields of S.
func (c *Cache[S]) Get(raw []byte) (*S, error) {
	if c.value != nil && bytes.Equal(raw, c.raw) {
		return c.value, nil
	}
	s, err := Decode[S](raw)
	if err != nil {
		c.value = nil
		return nil, err
	}
	c.raw, c.value = append(c.raw[:0], raw...), s
	return s, nil
}

// Decode returns raw as an S. Empty settings and null are the zero S. A
// Defaults method runs before decoding and a Validate method after it, where *S
// has them.
func Decode[S any](raw []byte) (*S, error) {
	s := new(S)
	if d, ok := any(s).(interface{ Defaults() }); ok {
		d.Defaults()
	}
	if len(raw) > 0 && !flat(raw, s) {
		if err := json.Unmarshal(raw, s); err != nil {
			return nil, fmt.Errorf("settings: decode into %T: %w", *s, err)
		}
	}
	if v, ok := any(s).(interface{ Validate() error }); ok {
		if err := v.Validate(); err != nil {
			return nil, fmt.Errorf("settings: %w", err)
		}
	}
	return s, nil
}

// Warm learns the type T, which takes longer than decoding does.
func Warm[T any]() {
	if doc := []byte("{}"); !flat(doc, new(T)) {
		_ = json.Unmarshal(doc, new(T))
	}
}

// initial holds what init brought.
var initial struct {
	raw   []byte
	value any
}

// SetInit keeps the init settings of this instance.
func SetInit(raw []byte) {
	initial.raw, initial.value = append([]byte(nil), raw...), nil
}

// Init returns the init settings, decoded once per type in a row.
func Init[S any]() (*S, error) {
	if s, ok := initial.value.(*S); ok {
		return s, nil
	}
	s, err := Decode[S](initial.raw)
	if err != nil {
		return nil, err
	}
	initial.value = s
	return s, nil
}
