package settings

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/anchor-host/anchor-host/internal/plain"
)

// Schema is the compiled JSON Schema of an operation's settings, or of those of init.
type Schema struct {
	doc    map[string]any
	schema *jsonschema.Schema
	meter  *meter
}

const schemaURL = "anchor:settings"

// noLoader refuses references to other documents.
type noLoader struct{}

func (noLoader) Load(url string) (any, error) {
	return nil, fmt.Errorf("reference to %s (a schema stands alone; use $defs)", url)
}

// Compile compiles the schema of settings. An empty one allows no settings, and keys that it does not
// name are refused, unless it says otherwise.
func Compile(raw json.RawMessage) (*Schema, error) {
	return new(complexity).settings(raw)
}

// CompileDocument compiles the schema of a document as it is written, such as that of an answer of a
// model, which is sent to the model, too.
func CompileDocument(raw json.RawMessage) (*Schema, error) {
	return new(complexity).compile(raw, false)
}

// settings is Compile within what the other schemas of the manifest leave.
func (c *complexity) settings(raw json.RawMessage) (*Schema, error) {
	if len(raw) == 0 {
		raw = json.RawMessage(`{"type": "object"}`)
	}
	s, err := c.compile(raw, true)
	if err != nil {
		return nil, fmt.Errorf("settings schema: %w", err)
	}
	return s, nil
}

func (c *complexity) compile(raw json.RawMessage, closed bool) (*Schema, error) {
	if err := c.text(raw); err != nil {
		return nil, err
	}
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		return nil, err
	}
	doc, ok := v.(map[string]any)
	if !ok {
		return nil, errors.New("not an object (want a JSON Schema that describes an object)")
	}
	if err := c.value(doc, "", 1); err != nil {
		return nil, errors.New(plain.Line(err.Error()))
	}
	if closed {
		closeTop(doc)
	}
	s := &Schema{doc: doc, meter: new(meter)}
	if s.schema, err = c.build(doc, s.meter); err != nil {
		return nil, errors.New(plain.Line(err.Error()))
	}
	return s, nil
}

// build compiles a schema that was counted, patterns aside.
func (c *complexity) build(doc map[string]any, m *meter) (*jsonschema.Schema, error) {
	compiler := jsonschema.NewCompiler()
	compiler.DefaultDraft(jsonschema.Draft2020)
	compiler.UseLoader(noLoader{})
	compiler.UseRegexpEngine(m.engine(c))
	if err := compiler.AddResource(schemaURL, doc); err != nil {
		return nil, err
	}
	schema, err := compiler.Compile(schemaURL)
	switch {
	case c.refused != nil: // it says more than that the pattern is no pattern
		return nil, c.refused
	case err != nil:
		return nil, err
	}
	return schema, m.install(schema)
}

// closeTop refuses keys that the schema does not name, unless it says
// otherwise.
func closeTop(doc map[string]any) {
	for _, key := range []string{"additionalProperties", "unevaluatedProperties"} {
		if _, ok := doc[key]; ok {
			return
		}
	}
	key := "additionalProperties"
	for _, composed := range []string{"$ref", "allOf", "anyOf", "oneOf", "if", "dependentSchemas"} {
		if _, ok := doc[composed]; ok {
			key = "unevaluatedProperties"
		}
	}
	doc[key] = false
}

// Check holds settings against the schema and returns them with defaults filled in, as
// canonical JSON, keys sorted and without white space, and as decoded from it. nil is no
// settings. It is safe for concurrent use.
func (s *Schema) Check(given map[string]any) (canonical json.RawMessage, full map[string]any, err error) {
	if given == nil {
		given = map[string]any{}
	}
	raw, err := json.Marshal(given)
	if err != nil {
		return nil, nil, err
	}
	if len(raw) > maxBytes {
		return nil, nil, fmt.Errorf("have %d bytes as JSON (want at most %d; put large data into a file or a service)", len(raw), maxBytes)
	}
	if full, err = s.check(raw, func(full map[string]any) { fillDefaults(s.doc, full) }); err != nil {
		return nil, nil, err
	}
	if raw, err = json.Marshal(full); err != nil {
		return nil, nil, err
	}
	return raw, full, nil
}

// CheckDocument holds an object in JSON against the schema. Nothing is filled in. It is safe for
// concurrent use.
func (s *Schema) CheckDocument(raw json.RawMessage) error {
	if len(raw) > maxBytes {
		return fmt.Errorf("has %d bytes, allowed %d", len(raw), maxBytes)
	}
	_, err := s.check(raw, func(map[string]any) {})
	return err
}

// check holds an object in JSON, completed by complete, against the schema.
func (s *Schema) check(raw json.RawMessage, complete func(map[string]any)) (map[string]any, error) {
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		return nil, fmt.Errorf("is no JSON: %s", plain.Line(err.Error()))
	}
	if err := checkDepth(v, "", 1); err != nil {
		return nil, errors.New(plain.Line(err.Error()))
	}
	object, ok := v.(map[string]any)
	if !ok {
		return nil, errors.New("is no object")
	}
	complete(object)
	if err := s.meter.validate(s.schema, object); err != nil {
		return nil, errors.New(s.explain(err))
	}
	return object, nil
}

// fillDefaults sets the missing keys of an object whose properties state a
// default, and goes on into objects that are there.
func fillDefaults(schema, value map[string]any) {
	props, _ := schema["properties"].(map[string]any)
	for name, p := range props {
		prop, _ := p.(map[string]any)
		if prop == nil {
			continue
		}
		if _, set := value[name]; !set {
			if d, ok := prop["default"]; ok {
				value[name] = d
			}
		}
		if inner, ok := value[name].(map[string]any); ok {
			inner = maps.Clone(inner) // a default belongs to the schema
			value[name] = inner
			fillDefaults(prop, inner)
		}
	}
}

// CheckTogether compiles all schemas of a manifest, within the bounds of all together: that of init, and
// those of its operations by name.
func CheckTogether[Name ~string](init json.RawMessage, operations map[Name]json.RawMessage) error {
	var all complexity
	if _, err := all.settings(init); err != nil {
		return err
	}
	for _, op := range slices.Sorted(maps.Keys(operations)) {
		if _, err := all.settings(operations[op]); err != nil {
			return fmt.Errorf("operation %.100q: %w", op, err)
		}
	}
	return nil
}

// Scalars returns what of checked settings fits into a table of strings: the text, numbers
// and truth values at the top.
func Scalars(settings map[string]any) map[string]string {
	out := map[string]string{}
	for k, v := range settings {
		switch v := v.(type) {
		case string:
			out[k] = v
		case bool:
			out[k] = fmt.Sprint(v)
		case json.Number:
			out[k] = v.String()
		}
	}
	return out
}
