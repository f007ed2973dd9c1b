// Package settings decodes settings into the struct that the author declares. It decodes
// them again only when their bytes change.
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
	// spare is allocated in advance by Warm.
	spare *target[S]
}

// warmRaw is the size in bytes of the memory that Warm allocates for a copy of the settings.
const warmRaw = 512

// Warm does in advance the work that the first Get does before it decodes.
func (c *Cache[S]) Warm() {
	if c.value != nil {
		return
	}
	if fieldsOf(new(S)) == nil {
		Warm[S]()
	}
	c.raw, c.spare = make([]byte, 0, warmRaw), newTarget[S]()
}

// Get decodes raw. It returns the same pointer as long as raw stays the same, so an author
// may keep derived values in unexported fields of S.
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

// Decode returns raw as an S. Empty settings and null are the zero S. If *S has a Defaults
// method, it runs before decoding; if it has a Validate method, that runs after decoding.
func Decode[S any](raw []byte) (*S, error) { return newTarget[S]().decode(raw) }

// target is a zero S to decode into, and the fields of its type that flat can set.
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

// initial holds the settings that came with init.
var initial struct {
	raw   []byte
	value any
}

// SetInit keeps the init settings of this instance.
func SetInit(raw []byte) {
	initial.raw, initial.value = append([]byte(nil), raw...), nil
}

// Init returns the init settings as an S. It keeps the decoded value until it is called for
// another type.
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
