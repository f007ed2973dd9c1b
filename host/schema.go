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
	meter  *settingsMeter
}

const schemaURL = "anchor:settings"

// noLoader refuses references to other documents.
type noLoader struct{}

func (noLoader) Load(url string) (any, error) {
	return nil, fmt.Errorf("reference to %s (a settings schema stands alone; use $defs)", url)
}

// newSettingsSchema compiles a schema. An empty one allows no settings.
func newSettingsSchema(raw json.RawMessage) (*settingsSchema, error) {
	return new(schemaCount).compile(raw)
}

// compile is newSettingsSchema within what the other schemas of the manifest leave.
func (c *schemaCount) compile(raw json.RawMessage) (*settingsSchema, error) {
	if len(raw) == 0 {
		raw = json.RawMessage(`{"type": "object"}`)
	}
	if err := c.text(raw); err != nil {
		return nil, fmt.Errorf("settings schema: %w", err)
	}
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		return nil, fmt.Errorf("settings schema: %w", err)
	}
	doc, ok := v.(map[string]any)
	if !ok {
		return nil, errors.New("settings schema: not an object (want a JSON Schema that describes an object)")
	}
	if err := c.value(doc, "", 1); err != nil {
		return nil, fmt.Errorf("settings schema: %s", oneLine(err.Error()))
	}
	closeTop(doc)
	s := &settingsSchema{doc: doc, meter: new(settingsMeter)}
	if s.schema, err = c.build(doc, s.meter); err != nil {
		return nil, fmt.Errorf("settings schema: %s", oneLine(err.Error()))
	}
	return s, nil
}

// build compiles a schema that was counted, patterns aside.
func (c *schemaCount) build(doc map[string]any, meter *settingsMeter) (*jsonschema.Schema, error) {
	compiler := jsonschema.NewCompiler()
	compiler.DefaultDraft(jsonschema.Draft2020)
	compiler.UseLoader(noLoader{})
	compiler.UseRegexpEngine(meter.engine(c))
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
	return schema, meter.watch(schema)
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
	if len(raw) > maxSettingsBytes {
		return nil, nil, fmt.Errorf("settings: %w: have %d bytes as JSON (want at most %d; put large data into a file or a service)", ErrConfig, len(raw), maxSettingsBytes)
	}
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		return nil, nil, fmt.Errorf("settings: %w: %w", ErrConfig, err)
	}
	if err := checkDepth(v, "", 1); err != nil {
		return nil, nil, fmt.Errorf("settings: %w: %s", ErrConfig, oneLine(err.Error()))
	}
	full, _ := v.(map[string]any)
	fillDefaults(s.doc, full)
	if err := s.meter.validate(s.schema, full); err != nil {
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

// secret reports whether settings hold a value that the schema marks as a secret, with
// "writeOnly": true. A mark that is not directly that of a property counts for all.
func (s *settingsSchema) secret(settings map[string]any) bool {
	raw, err := json.Marshal(settings)
	var given any
	if err != nil || json.Unmarshal(raw, &given) != nil {
		return true // apply says what is wrong
	}
	names := map[string]bool{}
	all := markedSecret(s.doc, names)
	return len(settings) > 0 && (all || holdsKey(given, names))
}

// markedSecret collects the names of properties that are marked, and reports whether
// anything else is.
func markedSecret(v any, names map[string]bool) (marked bool) {
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			marked = markedSecret(e, names) || marked
		}
	case map[string]any:
		properties, _ := v["properties"].(map[string]any)
		for name, p := range properties {
			if markedSecret(p, names) {
				names[name] = true
			}
		}
		for key, e := range v {
			if key != "properties" || properties == nil {
				marked = markedSecret(e, names) || marked
			}
		}
		marked = marked || v["writeOnly"] == true
	}
	return marked
}

// holdsKey reports whether a JSON value has one of the keys anywhere.
func holdsKey(v any, keys map[string]bool) bool {
	switch v := v.(type) {
	case []any:
		return slices.ContainsFunc(v, func(e any) bool { return holdsKey(e, keys) })
	case map[string]any:
		for key, e := range v {
			if keys[key] || holdsKey(e, keys) {
				return true
			}
		}
	}
	return false
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
	return oneLine(fmt.Sprintf("key %.100q: %s", at, text))
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
		return fmt.Sprintf("unknown key %.100q (did you mean %.100q?)", key, near)
	case len(allowed) == 0:
		return fmt.Sprintf("unknown key %.100q (there are no settings)", key)
	}
	return fmt.Sprintf("unknown key %.100q (want one of %s)", key, strings.Join(allowed, ", "))
}

// checkSchemas compiles every schema of a manifest, within the bounds of all together.
func checkSchemas(m *abi.Manifest) error {
	var count schemaCount
	if _, err := count.compile(m.Settings); err != nil {
		return err
	}
	for _, op := range slices.Sorted(maps.Keys(m.Operations)) {
		if _, err := count.compile(m.Operations[op].Settings); err != nil {
			return fmt.Errorf("operation %.100q: %w", op, err)
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
