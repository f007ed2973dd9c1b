package host

import (
	"os"
	"path/filepath"
	"testing"
)

// FuzzReadSpec: a spec or an error, whatever the bytes are.
func FuzzReadSpec(f *testing.F) {
	modules, err := filepath.Glob("../testdata/wasm/*/plugin.wasm")
	if err != nil || len(modules) == 0 {
		f.Fatal("no fixtures", err)
	}
	for _, m := range modules {
		wasm, err := os.ReadFile(m)
		if err != nil {
			f.Fatal(err)
		}
		side, err := os.ReadFile(filepath.Join(filepath.Dir(m), "plugin.yaml"))
		if err != nil {
			side = nil
		}
		f.Add(wasm, side)
	}
	f.Fuzz(func(t *testing.T, wasm, side []byte) {
		s, err := ReadSpec("fuzz", wasm, side)
		if (s == nil) == (err == nil) {
			t.Fatalf("spec %v, error %v", s, err)
		}
		if err != nil && len(err.Error()) == 0 {
			t.Fatal("an error without text")
		}
	})
}

// FuzzSettings: checked settings or an error, whatever schema and settings are.
func FuzzSettings(f *testing.F) {
	f.Add([]byte(`{"type":"object","properties":{"k1":{"type":"number","default":0.9}}}`), []byte(`{"k1":1}`))
	f.Add([]byte(`{"$ref":"#/$defs/a","$defs":{"a":{"properties":{"x":{}}}}}`), []byte(`{"y":{"z":[1]}}`))
	f.Add([]byte(`{"properties":{"a":{"default":{"b":1},"properties":{"b":{},"c":{"default":2}}}}}`), []byte(`{}`))
	f.Add([]byte(`{`+doubling(22, "allOf", `{}`)+`}`), []byte(`{}`))
	f.Add([]byte(`{"properties":{"a":{"pattern":"(((a{10}){10}){9})+b"}}}`), []byte(`{"a":"aaaaaaaaaaaaaaaa"}`))
	f.Add([]byte(`{"properties":{"a":{"minimum":1e1000000}}}`), []byte(`{"a":1e300}`))
	f.Fuzz(func(t *testing.T, schema, settings []byte) {
		s, err := newSettingsSchema(schema)
		if (s == nil) == (err == nil) {
			t.Fatalf("schema %v, error %v", s, err)
		}
		if err != nil {
			return
		}
		values, err := yamlMap(settings)
		if err != nil {
			return
		}
		canonical, full, err := s.apply(values)
		if (canonical == nil) == (err == nil) || (full == nil) == (err == nil) {
			t.Fatalf("canonical %q, error %v", canonical, err)
		}
	})
}
