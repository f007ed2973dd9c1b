package conformance

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/anchor-host/anchor-host/abi"
)

// defaults checks that the schema accepts the defaults that it fills in.
func (s *session) defaults(op abi.Operation, given map[string]any) outcome {
	_, err := s.t.Settings(op, nil)
	if err == nil {
		return passed
	}
	if len(given) == 0 {
		return failed("%s", err)
	}
	if _, err := s.t.Settings(op, given); err != nil {
		return failed("the settings given to the test: %s", err)
	}
	return skipped("settings are required, and were given")
}

// with returns the given settings and one more.
func with(given map[string]any, key string, value any) map[string]any {
	out := maps.Clone(given)
	if out == nil {
		out = map[string]any{}
	}
	out[key] = value
	return out
}

func (s *session) unknownRefused(op abi.Operation, given map[string]any) outcome {
	if _, err := s.t.Settings(op, given); err != nil {
		return skipped("see %s", caseDefaults)
	}
	const key = "a_setting_nobody_has"
	if _, err := s.t.Settings(op, with(given, key, "x")); err == nil {
		return failed("the key %q was accepted", key)
	}
	return passed
}

// strays are values of every type. A sensible setting refuses at least one of them.
var strays = []any{
	nil, true, -1234567.5, "\x00 no sensible text", []any{map[string]any{"a_stray": []any{}}}, map[string]any{"a_stray": []any{nil}},
}

func (s *session) wrongTypeRefused(op abi.Operation, raw json.RawMessage, given map[string]any) outcome {
	var schema struct {
		Properties map[string]json.RawMessage `json:"properties"`
	}
	if json.Unmarshal(raw, &schema) != nil || len(schema.Properties) == 0 {
		return skipped("the schema names no settings")
	}
	if _, err := s.t.Settings(op, given); err != nil {
		return skipped("see %s", caseDefaults)
	}
	for _, key := range slices.Sorted(maps.Keys(schema.Properties)) {
		refused := slices.ContainsFunc(strays, func(v any) bool {
			_, err := s.t.Settings(op, with(given, key, v))
			return err != nil
		})
		if !refused {
			return failed("the setting %q accepts every value", key)
		}
	}
	return passed
}
