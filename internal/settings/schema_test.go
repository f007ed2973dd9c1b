package settings

import (
	"encoding/json"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// yamlMap reads settings as a configuration file gives them.
func yamlMap(doc []byte) (map[string]any, error) {
	var v map[string]any
	err := yaml.Unmarshal(doc, &v)
	return v, err
}

const bm25Schema = `{"type": "object", "required": ["path"], "properties": {
	"k1": {"type": "number", "minimum": 0, "default": 0.9},
	"path": {"type": "string"},
	"stem": {"type": "boolean", "default": true},
	"fields": {"type": "object", "additionalProperties": false, "properties": {"title": {"type": "integer", "default": 2}, "body": {"default": 1}}}}}`

func TestSettings(t *testing.T) {
	for _, tc := range []struct{ name, schema, settings, want, err string }{
		{"defaults, canonical", bm25Schema, `{path: /docs}`, `{"k1":0.9,"path":"/docs","stem":true}`, ""},
		{"nested defaults", bm25Schema, `{path: /docs, fields: {body: 3}}`, `{"fields":{"body":3,"title":2},"k1":0.9,"path":"/docs","stem":true}`, ""},
		{"none", ``, ``, `{}`, ""},
		{"required", bm25Schema, `{}`, "", `missing property 'path'`},
		{"unknown key near another", bm25Schema, `{path: x, k2: 1}`, "", `unknown key "k2" (did you mean "k1"?)`},
		{"unknown key", bm25Schema, `{path: x, taste: 1}`, "", `unknown key "taste" (want one of fields, k1, path, stem)`},
		{"unknown nested key", bm25Schema, `{path: x, fields: {titel: 1}}`, "", `unknown key "fields.titel" (did you mean "title"?)`},
		{"settings where there are none", ``, `{a: 1}`, "", `unknown key "a" (there are no settings)`},
		{"wrong type", bm25Schema, `{path: x, k1: high}`, "", `key "k1": got string, want number`},
		{"out of range", bm25Schema, `{path: x, k1: -1}`, "", `key "k1": minimum: got -1, want 0`},
		{"open schema", `{"additionalProperties": true}`, `{a: 1}`, `{"a":1}`, ""},
		{"composed schema", `{"allOf": [{"properties": {"a": {}}}], "properties": {"b": {}}}`, `{a: 1, b: 2}`, `{"a":1,"b":2}`, ""},
		{"unknown key of a composed schema", `{"allOf": [{"properties": {"a": {}}}], "properties": {"b": {}}}`, `{c: 1}`, "",
			`unknown key "c" (want one of b)`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s, err := Compile(json.RawMessage(tc.schema))
			if err != nil {
				t.Fatal(err)
			}
			settings, err := yamlMap([]byte(tc.settings))
			if err != nil {
				t.Fatal(err)
			}
			for range 2 { // the schema's own defaults must stay as they are
				got, _, err := s.Check(settings)
				if string(got) != tc.want || (err == nil) != (tc.err == "") || err != nil && err.Error() != tc.err {
					t.Fatalf("settings %s, error %v\nwant %s %s", got, err, tc.want, tc.err)
				}
			}
		})
	}
}

func TestBadSchemas(t *testing.T) {
	for schema, want := range map[string]string{
		`[]`:                                      "not an object",
		`{"type": "objekt"}`:                      "settings schema",
		`{"$ref": "https://example.com/s.json"}`:  "stands alone",
		`{"$ref": "file:///etc/passwd"}`:          "stands alone",
		`{"properties": {"a": {"pattern": "("}}}`: "settings schema",
		`{`: "settings schema",
	} {
		if s, err := Compile(json.RawMessage(schema)); err == nil || s != nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: schema %v, error %v (want one line with %q)", schema, s, err, want)
		}
	}
}
