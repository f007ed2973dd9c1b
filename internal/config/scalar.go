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

// String returns the span in the form of the file.
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

// Choice is a built-in named by a string, or a plugin named by a map. OnError and Fallback apply
// to plugins only.
type Choice struct {
	Name string
	Use  *Use
	// OnError is "raise" or "skip". Empty means raise.
	OnError string
	// Fallback is the built-in that replaces a skipped plugin. Empty: the default.
	Fallback string
}

// replaceable is a plugin that is used instead of a built-in, with a fallback.
type replaceable struct {
	Plugin   string         `key:"plugin" doc:"Name of a plugin in the plugin folder that needs no configuration."`
	Instance string         `key:"instance" doc:"Name of an entry of instances."`
	Settings map[string]any `key:"settings" doc:"Settings of this use."`
	Timeout  Duration       `key:"timeout" doc:"Time limit of one call."`
	Reads    []string       `key:"reads" doc:"The plugin receives only these columns and parts of the request, of those that it reads. An empty list allows nothing."`
	OnError  string         `key:"on_error" enum:"raise,skip" default:"raise" doc:"What happens when it fails: raise fails the build, skip continues with the fallback and reports that."`
	Fallback string         `key:"fallback" doc:"The built-in that replaces it if on_error is skip. Default: cl100k_base for a tokenizer, generic for a format."`
}

// UnmarshalNode decodes either form.
func (c *Choice) UnmarshalNode(d *strict.Decoder, n *strict.Node, path string) {
	if n.Kind == strict.Map {
		var p replaceable
		d.Value(n, reflect.ValueOf(&p).Elem(), path)
		c.Use = &Use{Plugin: p.Plugin, Instance: p.Instance, Settings: p.Settings, Timeout: p.Timeout, Reads: p.Reads}
		c.OnError, c.Fallback = p.OnError, p.Fallback
		return
	}
	d.Value(n, reflect.ValueOf(&c.Name).Elem(), path)
}

// JSONSchema describes both forms.
func (c *Choice) JSONSchema() map[string]any {
	return map[string]any{"oneOf": []any{
		map[string]any{"type": "string"},
		strict.Schema(reflect.TypeFor[replaceable]()),
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
