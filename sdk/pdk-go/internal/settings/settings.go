// Package settings decodes settings into the struct the author declares, once
// for as long as the bytes stay the same.
package settings

import (
	"bytes"
	"encoding/json"
	"fmt"
	"unsafe"
)

// Cache holds the settings last decoded. The zero value is ready.
type Cache[S any] struct {
	raw   []byte
	value *S
	// spare is made ahead by Warm.
	spare *target[S]
}

// warmRaw is the size of the settings for which room is made ahead, in bytes.
const warmRaw = 512

// Warm does ahead what the first Get would have to do before it decodes.
func (c *Cache[S]) Warm() {
	if c.value != nil {
		return
	}
	if fieldsOf(new(S)) == nil {
		Warm[S]()
	}
	c.raw, c.spare = make([]byte, 0, warmRaw), newTarget[S]()
}

// Get returns raw decoded. The pointer is the same from call to call while raw
// is, so an author may keep derived values in unexported fields of S.
func (c *Cache[S]) Get(raw []byte) (*S, error) {
	if c.value != nil && bytes.Equal(raw, c.raw) {
		return c.value, nil
	}
	t := c.spare
	if c.value, c.spare = nil, nil; t == nil {
		t = newTarget[S]()
	}
	s, err := t.decode(raw)
	if err != nil {
		return nil, err
	}
	c.raw, c.value = append(c.raw[:0], raw...), s
	return s, nil
}

// Decode returns raw as an S. Empty settings and null are the zero S. A
// Defaults method runs before decoding and a Validate method after it, where *S
// has them.
func Decode[S any](raw []byte) (*S, error) { return newTarget[S]().decode(raw) }

// target is a zero S to decode into, and what is known of its type.
type target[S any] struct {
	s        *S
	fields   []field
	defaults interface{ Defaults() }
	validate interface{ Validate() error }
}

func newTarget[S any]() *target[S] {
	t := &target[S]{s: new(S)}
	t.fields = fieldsOf(t.s)
	t.defaults, _ = any(t.s).(interface{ Defaults() })
	t.validate, _ = any(t.s).(interface{ Validate() error })
	return t
}

func (t *target[S]) decode(raw []byte) (*S, error) {
	if t.defaults != nil {
		t.defaults.Defaults()
	}
	if len(raw) > 0 && !flat(raw, unsafe.Pointer(t.s), t.fields) {
		if err := json.Unmarshal(raw, t.s); err != nil {
			return nil, fmt.Errorf("settings: decode into %T: %w", *t.s, err)
		}
	}
	if t.validate != nil {
		if err := t.validate.Validate(); err != nil {
			return nil, fmt.Errorf("settings: %w", err)
		}
	}
	return t.s, nil
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
