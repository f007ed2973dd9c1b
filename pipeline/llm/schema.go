package llm

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// noLoader refuses references to other documents.
type noLoader struct{}

// Load implements jsonschema.URLLoader.
func (noLoader) Load(url string) (any, error) {
	return nil, fmt.Errorf("reference to %s (a schema stands alone; use $defs)", url)
}

// checkOf returns the check of the answer to a request, nil if it has no schema.
func checkOf(r *Request) (func(json.RawMessage) error, error) {
	if len(r.Schema) == 0 || r.Check != nil {
		return r.Check, nil
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(r.Schema))
	if err != nil {
		return nil, fmt.Errorf("schema: %w", err)
	}
	c := jsonschema.NewCompiler()
	c.UseLoader(noLoader{})
	const at = "anchor:answer"
	if err := c.AddResource(at, doc); err != nil {
		return nil, fmt.Errorf("schema: %w", err)
	}
	schema, err := c.Compile(at)
	if err != nil {
		return nil, fmt.Errorf("schema: %w", err)
	}
	return func(answer json.RawMessage) error {
		v, err := jsonschema.UnmarshalJSON(bytes.NewReader(answer))
		if err != nil {
			return errors.New("the answer is no JSON")
		}
		if err := schema.Validate(v); err != nil {
			return fmt.Errorf("the answer does not fit the schema: %w", err)
		}
		return nil
	}, nil
}
