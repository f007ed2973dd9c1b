package config

import (
	"errors"
	"fmt"
	"reflect"
	"time"

	"github.com/anchor-host/anchor-host/internal/strict"
	"github.com/anchor-host/anchor-host/internal/units"
)

// Duration is a time span written "500ms", "2s" or "1m30s".
type Duration time.Duration

// UnmarshalText parses a span; it must be positive.
func (d *Duration) UnmarshalText(text []byte) error {
	span, err := time.ParseDuration(string(text))
	if err != nil || span <= 0 {
		return fmt.Errorf("want a time span such as %q, got %q", "2s", text)
	}
	*d = Duration(span)
	return nil
}

// String returns the span as it is written.
func (d Duration) String() string { return time.Duration(d).String() }

// Size is a number of bytes written "64MiB" or "1KiB".
type Size int64

// UnmarshalText parses a size; it must be positive.
func (s *Size) UnmarshalText(text []byte) error {
	bytes, err := units.ParseSize(string(text))
	if err != nil || bytes <= 0 {
		return fmt.Errorf("want a size such as %q, got %q", "64MiB", text)
	}
	*s = Size(bytes)
	return nil
}

// String returns the size in the largest unit that divides it.
func (s Size) String() string {
	for _, unit := range []struct {
		name string
		size Size
	}{{"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}} {
		if s >= unit.size && s%unit.size == 0 {
			return fmt.Sprintf("%d%s", s/unit.size, unit.name)
		}
	}
	return fmt.Sprintf("%dB", int64(s))
}

// Choice is a built-in named by a string, or a plugin named by a map.
type Choice struct {
	Name string
	Use  *Use
}

// UnmarshalNode decodes either shape.
func (c *Choice) UnmarshalNode(d *strict.Decoder, n *strict.Node, path string) {
	if n.Kind == strict.Map {
		c.Use = new(Use)
		d.Value(n, reflect.ValueOf(c.Use).Elem(), path)
		return
	}
	d.Value(n, reflect.ValueOf(&c.Name).Elem(), path)
}

// JSONSchema states either shape.
func (c *Choice) JSONSchema() map[string]any {
	return map[string]any{"oneOf": []any{
		map[string]any{"type": "string"},
		strict.Schema(reflect.TypeFor[Use]()),
	}}
}

// String names the choice.
func (c Choice) String() string {
	switch {
	case c.Use == nil:
		return c.Name
	case c.Use.Instance != "":
		return "instance " + c.Use.Instance
	}
	return "plugin " + c.Use.Plugin
}

// ErrInvalid marks a configuration or request that cannot be used.
var ErrInvalid = errors.New("invalid configuration")
