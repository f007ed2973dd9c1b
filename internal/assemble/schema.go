package assemble

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

	"github.com/anchor-host/anchor-host/internal/strict"
)

// checkSettings holds settings against a schema of a manifest, as the host will
// when it loads the plugin: keys that the schema does not name are refused.
// [host.ReadSpec] has compiled the schema before.
func checkSettings(schema json.RawMessage, settings map[string]any) error {
	if len(schema) == 0 {
		schema = json.RawMessage(`{}`)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(schema))
	if err != nil {
		return err
	}
	known := closeSchema(doc)
	c := jsonschema.NewCompiler()
	if err := c.AddResource("settings", doc); err != nil {
		return err
	}
	compiled, err := c.Compile("settings")
	if err != nil {
		return err
	}
	raw, err := json.Marshal(settings)
	if err != nil {
		return err
	}
	if settings == nil {
		raw = []byte("{}")
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		return err
	}
	return explainSchema(compiled.Validate(value), known)
}

// closeSchema refuses keys that the schema does not name, unless it says
// otherwise, and returns those it names.
func closeSchema(doc any) []string {
	s, ok := doc.(map[string]any)
	if !ok {
		return nil
	}
	if s["additionalProperties"] == nil && s["unevaluatedProperties"] == nil {
		s["unevaluatedProperties"] = false
	}
	properties, _ := s["properties"].(map[string]any)
	return slices.Sorted(maps.Keys(properties))
}

// explainSchema makes one line of what is wrong first.
func explainSchema(err error, known []string) error {
	var invalid *jsonschema.ValidationError
	if !errors.As(err, &invalid) {
		return err
	}
	for len(invalid.Causes) > 0 {
		invalid = invalid.Causes[0]
	}
	at := strings.Join(invalid.InstanceLocation, ".")
	switch k := invalid.ErrorKind.(type) {
	case *kind.AdditionalProperties:
		return fmt.Errorf("unknown key %q%s", strict.Join(at, k.Properties[0]), strict.Hint(k.Properties[0], known))
	case *kind.FalseSchema:
		return fmt.Errorf("unknown key %q%s", at, strict.Hint(at, known))
	}
	text := "does not match the schema of the plugin"
	if out := invalid.BasicOutput(); out.Error != nil {
		text = out.Error.String()
	}
	if at == "" {
		return errors.New(text)
	}
	return fmt.Errorf("key %q: %s", at, text)
}
