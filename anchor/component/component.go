// Package component has the types with which a Go program registers parts of its own, such as a
// retriever that asks its search service, in anchor.Options. A configuration then names them as it
// names plugins.
package component

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
)

// ErrSettings marks settings that a component refuses. An App with such settings is not opened.
var ErrSettings = errors.New("settings")

// Settings are the settings of a component in the configuration. Defaults of the schema are filled
// in. Numbers are [json.Number].
type Settings map[string]any

// Decode sets what a pointer to a struct with JSON tags points to. It refuses keys that the struct
// lacks. Its errors wrap [ErrSettings].
func (s Settings) Decode(into any) error {
	if s == nil {
		s = Settings{}
	}
	raw, err := json.Marshal(s)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrSettings, err)
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return fmt.Errorf("%w: %w", ErrSettings, err)
	}
	return nil
}

// Maker makes components of one name.
type Maker[T any] struct {
	// New makes a component. An App calls it when it loads or reloads its configuration, once for each
	// different settings under the name. All builds share what it returns. If that is an [io.Closer],
	// it is closed when no build of that version of the configuration runs any more. New should end
	// with ctx. An error is that of a plugin that cannot be loaded, unless it wraps [ErrSettings].
	New func(ctx context.Context, s Settings) (T, error)
	// Schema is the JSON Schema (2020-12) of the settings. They are checked before New is called, and
	// keys that the schema does not name are refused, unless it says otherwise. Empty: New checks them.
	Schema string
}
