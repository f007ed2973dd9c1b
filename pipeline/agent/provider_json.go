package agent

import (
	"fmt"

	"github.com/anchor-host/anchor-host/internal/decode"
)

// UnmarshalJSON decodes a state and its messages strictly. Absent and null members are zero.
// On an error the state is unchanged.
func (s *State) UnmarshalJSON(data []byte) error {
	var doc State
	err := decode.Object(data, decode.Optional("run_id", &doc.RunID), decode.Optional("messages", &doc.Messages),
		decode.Optional("observations", &doc.Observations), decode.Optional("reflection", &doc.Reflection), decode.Optional("data", &doc.Data))
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
