package host

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"

	"github.com/anchor-host/anchor-host/abi"
)

// settingsSchema checks settings against the JSON Schema (2020-12) of a
// manifest and fills in its defaults.
type settingsSchema struct {
	doc    map[string]any
	schema *jsonschema.Schema
}

const schemaURL = "anchor:settings"

// noLoader refuses references to other documents.
type noLoader struct{}

func (noLoader) Load(url string) (any, error) {
	return nil, fmt.Errorf("reference to %s (a settings schema stands alone; use $defs)", url)
}

// newSettingsSchema compiles a schema. An empty one allows no settings.
func newSettingsSchema(raw json.RawMessage) (*settingsSchema, error) {
	if len(raw) == 0 {
		raw = json.RawMessage(`{"type": "object"}`)
	}
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		return nil, fmt.Errorf("settings schema: %w", err)
	}
	doc, ok := v.(map[string]any)
	if !ok {
		return nil, errors.New("settings schema: not an object (want a JSON Schema that describes an object)")
	}
	closeTop(doc)
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	c.UseLoader(noLoader{})
	if err := c.AddResource(schemaURL, doc); err != nil {
		return nil, fmt.Errorf("settings schema: %w", err)
	}
	schema, err := c.Compile(schemaURL)
	if err != nil {
		return nil, fmt.Errorf("settings schema: %s", oneLine(err.Error()))
	}
	return &settingsSchema{doc: doc, schema: schema}, nil
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

// apply checks settings and returns them with defaults filled in as canonical
// JSON: keys sorted, no white space.
func (s *settingsSchema) apply(settings map[string]any) (json.RawMessage, map[string]any, error) {
	if settings == nil {
		settings = map[string]any{}
	}
	raw, err := json.Marshal(settings)
	if err != nil {
		return nil, nil, fmt.Errorf("settings: %w: %w", ErrConfig, err)
	}
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		return nil, nil, fmt.Errorf("settings: %w: %w", ErrConfig, err)
	}
	full, _ := v.(map[string]any)
	fillDefaults(s.doc, full)
	if err := s.schema.Validate(full); err != nil {
		return nil, nil, fmt.Errorf("settings: %w: %s", ErrConfig, s.explain(err))
	}
	if raw, err = json.Marshal(full); err != nil {
		return nil, nil, fmt.Errorf("settings: %w: %w", ErrConfig, err)
	}
	return raw, full, nil
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

// explain makes one line of a validation error: the first thing that is wrong.
func (s *settingsSchema) explain(err error) string {
	var ve *jsonschema.ValidationError
	if !errors.As(err, &ve) {
		return oneLine(err.Error())
	}
	for len(ve.Causes) > 0 {
		ve = ve.Causes[0]
	}
	at := strings.Join(ve.InstanceLocation, ".")
	switch k := ve.ErrorKind.(type) {
	case *kind.AdditionalProperties:
		return s.unknownKey(ve.InstanceLocation, k.Properties)
	case *kind.FalseSchema:
		if n := len(ve.InstanceLocation); n > 0 {
			return s.unknownKey(ve.InstanceLocation[:n-1], ve.InstanceLocation[n-1:])
		}
	}
	text := ""
	if out := ve.BasicOutput(); out.Error != nil {
		text = out.Error.String()
	}
	if at == "" {
		return oneLine(text)
	}
	return oneLine(fmt.Sprintf("key %q: %s", at, text))
}

// unknownKey names a key the schema does not know and those it knows.
func (s *settingsSchema) unknownKey(at, unknown []string) string {
	doc := s.doc
	for _, name := range at {
		props, _ := doc["properties"].(map[string]any)
		doc, _ = props[name].(map[string]any)
	}
	props, _ := doc["properties"].(map[string]any)
	allowed := slices.Sorted(maps.Keys(props))
	slices.Sort(unknown)
	key := strings.Join(append(slices.Clone(at), unknown[0]), ".")
	switch near := abi.Nearest(unknown[0], allowed); {
	case near != "":
		return fmt.Sprintf("unknown key %q (did you mean %q?)", key, near)
	case len(allowed) == 0:
		return fmt.Sprintf("unknown key %q (there are no settings)", key)
	}
	return fmt.Sprintf("unknown key %q (want one of %s)", key, strings.Join(allowed, ", "))
}

// checkSchemas compiles every schema of a manifest.
func checkSchemas(m *abi.Manifest) error {
	if _, err := newSettingsSchema(m.Settings); err != nil {
		return err
	}
	for op, o := range m.Operations {
		if _, err := newSettingsSchema(o.Settings); err != nil {
			return fmt.Errorf("operation %q: %w", op, err)
		}
	}
	return nil
}

// scalars are the top-level values that are visible through config_get: text,
// numbers and truth values.
func scalars(settings map[string]any) map[string]string {
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
