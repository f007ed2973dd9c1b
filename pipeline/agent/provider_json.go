package agent

import (
	"encoding/json"
	"fmt"

	"github.com/anchor-host/anchor-host/pipeline/internal/decode"
)

var stateKeys = []string{"run_id", "messages", "observations", "reflection", "data"}

// UnmarshalJSON decodes a state and its messages strictly. Absent and null members are zero.
// On an error the state is unchanged.
func (s *State) UnmarshalJSON(data []byte) error {
	var doc State
	err := decode.Object(data, func(key string, raw json.RawMessage) error {
		if decode.IsNull(raw) {
			return decode.CheckKey(key, stateKeys, false)
		}
		switch key {
		case "run_id":
			return decode.String(raw, &doc.RunID)
		case "messages":
			return json.Unmarshal(raw, &doc.Messages)
		case "observations":
			return decode.Strings(raw, &doc.Observations)
		case "reflection":
			return decode.String(raw, &doc.Reflection)
		case "data":
			return decode.Metadata(raw, &doc.Data)
		}
		return decode.UnknownKey(stateKeys...)
	})
	if err == nil {
		err = doc.Validate()
	}
	if err != nil {
		return fmt.Errorf("agent state: %w", err)
	}
	*s = doc
	return nil
}

// Validate checks the messages.
func (s *State) Validate() error { return knownCalls{}.validate(s.Messages) }
