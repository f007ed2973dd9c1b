package settings

import (
	"encoding/json"
	"testing"
)

func TestSecretSettings(t *testing.T) {
	for _, tc := range []struct {
		schema, settings string
		secret           bool
	}{
		{`{"properties": {"a": {"writeOnly": true}}}`, `{"a": "x"}`, true},
		{`{"properties": {"a": {"writeOnly": true, "default": "x"}}}`, `{}`, false},
		{`{"properties": {"a": {"writeOnly": true}, "b": {}}}`, `{"b": 1}`, false},
		{`{"properties": {"a": {"writeOnly": false}}}`, `{"a": "x"}`, false},
		{`{"properties": {"a": {"properties": {"b": {"writeOnly": true}}}}}`, `{"a": {"b": 1}}`, true},
		{`{"properties": {"a": {"properties": {"b": {"writeOnly": true}}}}}`, `{"a": {}}`, false},
		{`{"properties": {"a": {"type": "array", "items": {"writeOnly": true}}}}`, `{"a": []}`, true},
		{`{"properties": {"a": {"items": {"properties": {"b": {"writeOnly": true}}}}}}`, `{"a": [{}, {"b": 1}]}`, true},
		{`{"properties": {"a": {"$ref": "#/$defs/s"}}, "$defs": {"s": {"writeOnly": true}}}`, `{"a": "x"}`, true},
		{`{"properties": {"a": {"$ref": "#/$defs/s"}}, "$defs": {"s": {"writeOnly": true}}}`, `{}`, false},
		{`{"properties": {"a": {"anyOf": [{"type": "null"}, {"writeOnly": true}]}}}`, `{"a": "x"}`, true},
		{`{"properties": {"a": {}}, "allOf": [{"properties": {"a": {"writeOnly": true}}}]}`, `{"a": "x"}`, true},
		{`{"patternProperties": {"_key$": {"writeOnly": true}}}`, `{"api_key": "x"}`, true},
		{`{"properties": {"properties": {"properties": {"a": {"writeOnly": true}}}}}`, `{"properties": {"a": 1}}`, true},
		{`{"properties": {"writeOnly": {}}}`, `{"writeOnly": true}`, false},
	} {
		s, err := Compile(json.RawMessage(tc.schema))
		if err != nil {
			t.Fatal(err)
		}
		var given map[string]any
		if err := json.Unmarshal([]byte(tc.settings), &given); err != nil {
			t.Fatal(err)
		}
		if got := s.Secret(given); got != tc.secret {
			t.Errorf("%s with %s: secret %t", tc.schema, tc.settings, got)
		}
	}
}
