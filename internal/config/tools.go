package config

import (
	"encoding/json"
	"strings"

	"github.com/anchor-host/anchor-host/internal/strict"
	"github.com/anchor-host/anchor-host/pipeline/core"
	"github.com/anchor-host/anchor-host/pipeline/format"
)

// Tools is a JSON list of tools. A list of a JSON document is kept byte for byte.
type Tools string

// UnmarshalNode decodes a list, or a text with the JSON of a list.
func (t *Tools) UnmarshalNode(d *strict.Decoder, n *strict.Node, path string) {
	raw := []byte(n.Text)
	switch n.Kind {
	case strict.String:
	case strict.List:
		var err error
		if raw, err = n.JSON(); err != nil {
			d.Fail(n, path, "%v", err)
			return
		}
	default:
		d.Fail(n, path, "want a list of tools")
		return
	}
	if err := format.CheckTools(raw); err != nil {
		d.Fail(n, path, "%s", strings.TrimPrefix(strings.ReplaceAll(err.Error(), ": "+core.ErrInvalid.Error(), ""), "tools"))
		return
	}
	*t = Tools(raw)
}

// JSONSchema states the list.
func (*Tools) JSONSchema() map[string]any {
	return map[string]any{"type": []any{"array", "string"}, "items": map[string]any{"type": "object"}}
}

// JSON returns the list, nil if there is none.
func (t Tools) JSON() json.RawMessage {
	if t == "" {
		return nil
	}
	return json.RawMessage(t)
}
