package settings

import "testing"

// FuzzSettings: checked settings or an error, whatever schema and settings are.
func FuzzSettings(f *testing.F) {
	f.Add([]byte(`{"type":"object","properties":{"k1":{"type":"number","default":0.9}}}`), []byte(`{"k1":1}`))
	f.Add([]byte(`{"$ref":"#/$defs/a","$defs":{"a":{"properties":{"x":{}}}}}`), []byte(`{"y":{"z":[1]}}`))
	f.Add([]byte(`{"properties":{"a":{"default":{"b":1},"properties":{"b":{},"c":{"default":2}}}}}`), []byte(`{}`))
	f.Add([]byte(`{`+doubling(22, "allOf", `{}`)+`}`), []byte(`{}`))
	f.Add([]byte(`{"properties":{"a":{"pattern":"(((a{10}){10}){9})+b"}}}`), []byte(`{"a":"aaaaaaaaaaaaaaaa"}`))
	f.Add([]byte(`{"properties":{"a":{"minimum":1e1000000}}}`), []byte(`{"a":1e300}`))
	f.Fuzz(func(t *testing.T, schema, settings []byte) {
		s, err := Compile(schema)
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
		canonical, full, err := s.Check(values)
		if (canonical == nil) == (err == nil) || (full == nil) == (err == nil) {
			t.Fatalf("canonical %q, error %v", canonical, err)
		}
	})
}
