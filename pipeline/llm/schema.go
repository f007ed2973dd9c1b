package llm

import (
	"encoding/json"
	"fmt"

	"github.com/anchor-host/anchor-host/internal/settings"
)

// checkOf returns the check of the answer to a request, nil if it has no schema.
func checkOf(r *Request) (func(json.RawMessage) error, error) {
	if len(r.Schema) == 0 || r.Check != nil {
		return r.Check, nil
	}
	schema, err := settings.CompileDocument(r.Schema)
	if err != nil {
		return nil, fmt.Errorf("schema: %w", err)
	}
	return func(answer json.RawMessage) error {
		if err := schema.CheckDocument(answer); err != nil {
			return fmt.Errorf("the answer does not fit the schema: %w", err)
		}
		return nil
	}, nil
}
