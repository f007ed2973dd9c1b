package explain

import (
	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/anchor-host/anchor-host/internal/appendjson"
)

// MarshalJSON writes the list of traces.
func (t *Trace) MarshalJSON() ([]byte, error) { return appendjson.Append(nil, t) }

// MarshalJSONTo writes what MarshalJSON returns.
func (t *Trace) MarshalJSONTo(enc *jsontext.Encoder) error {
	items := t.All()
	if items == nil {
		items = []ItemTrace{}
	}
	return jsonv2.MarshalEncode(enc, items)
}

// MarshalJSONTo writes a list of names.
func (a Actions) MarshalJSONTo(enc *jsontext.Encoder) error {
	if err := enc.WriteToken(jsontext.BeginArray); err != nil {
		return err
	}
	for i, name := range actionNames {
		if a&(1<<i) != 0 {
			if err := enc.WriteToken(jsontext.String(name)); err != nil {
				return err
			}
		}
	}
	return enc.WriteToken(jsontext.EndArray)
}
