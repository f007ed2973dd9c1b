package spec

import (
	"encoding/json"
	"fmt"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/abi/manifest"
	"github.com/anchor-host/anchor-host/internal/settings"
)

// CheckSettings checks settings against the schema of an operation, or of init with
// abi.OpInit. It returns them with defaults filled in, as they are sent to the guest; nil
// means that none are sent. Errors wrap ErrConfig or ErrNoOperation, or say what is wrong
// with the schema.
func (s *Spec) CheckSettings(op abi.Operation, given map[string]any) (json.RawMessage, error) {
	canonical, err := s.checkSettings(op, given)
	if err != nil {
		return nil, fmt.Errorf("plugin %q: %s: %w", s.Name, op, err)
	}
	return canonical, nil
}

func (s *Spec) checkSettings(op abi.Operation, given map[string]any) (json.RawMessage, error) {
	if s.Manifest == nil {
		return nil, s.noOperation()
	}
	raw := s.Manifest.Settings
	if op != abi.OpInit {
		o, ok := s.Manifest.Operations[op]
		if !ok {
			return nil, s.noOperation()
		}
		raw = o.Settings
	}
	schema, err := settings.Compile(raw)
	if err != nil {
		return nil, err
	}
	canonical, full, err := schema.Check(given)
	if err != nil {
		return nil, fmt.Errorf("settings: %w: %w", ErrConfig, err)
	}
	if len(full) == 0 {
		return nil, nil
	}
	return canonical, nil
}

// checkSchemas compiles every schema of a manifest.
func checkSchemas(m *manifest.Manifest) error {
	operations := make(map[abi.Operation]json.RawMessage, len(m.Operations))
	for op, of := range m.Operations {
		operations[op] = of.Settings
	}
	return settings.CheckTogether(m.Settings, operations)
}
