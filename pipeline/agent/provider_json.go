package agent

import (
	"encoding/json"
	"fmt"

	"github.com/anchor-host/anchor-host/internal/appendjson"
	"github.com/anchor-host/anchor-host/internal/decode"
	"github.com/anchor-host/anchor-host/pipeline/message"
)

// UnmarshalJSON decodes a state and its messages strictly. Absent and null members are zero.
// On an error the state is unchanged.
func (s *State) UnmarshalJSON(data []byte) error {
	var doc State
	var messages json.RawMessage
	err := decode.Object(data, decode.Optional("run_id", &doc.RunID), decode.Optional("messages", &messages),
		decode.Optional("observations", &doc.Observations), decode.Optional("reflection", &doc.Reflection), decode.Optional("data", &doc.Data))
	if err == nil && messages != nil {
		doc.Messages, err = message.DecodeList(messages)
	}
	if err != nil {
		return fmt.Errorf("agent state: %w", err)
	}
	*s = doc
	return nil
}

// Validate checks the messages.
func (s *State) Validate() error { return validate(s.Messages) }

// MarshalJSON writes the state as [State.AppendJSON] does. Note that package encoding/json
// removes white space from the messages, and may escape <, > and &.
func (s State) MarshalJSON() ([]byte, error) { return s.AppendJSON(nil) }

// AppendJSON appends the state as JSON. Messages that did not change are written as they were
// read, byte for byte.
func (s *State) AppendJSON(dst []byte) (_ []byte, err error) {
	dst = append(dst, '{')
	begin := len(dst)
	member := func(name string) {
		if len(dst) > begin {
			dst = append(dst, ',')
		}
		dst = append(append(append(dst, '"'), name...), `":`...)
	}
	value := func(name string, given bool, v any) {
		if given && err == nil {
			member(name)
			dst, err = appendjson.Append(dst, v)
		}
	}
	value("run_id", s.RunID != "", s.RunID)
	if len(s.Messages) > 0 {
		member("messages")
		if dst, err = appendMessages(dst, s.Messages); err != nil {
			return nil, fmt.Errorf("agent state: %w", err)
		}
	}
	value("observations", len(s.Observations) > 0, s.Observations)
	value("reflection", s.Reflection != "", s.Reflection)
	value("data", len(s.Data) > 0, s.Data)
	if err != nil {
		return nil, fmt.Errorf("agent state: %w", err)
	}
	return append(dst, '}'), nil
}

// appendMessages appends a JSON list with one message on each line. Each message has the form
// in which it was read. Messages that did not change are written as they were read, byte for
// byte.
func appendMessages(dst []byte, messages []message.Message) (_ []byte, err error) {
	dst = append(dst, '[')
	for i := range messages {
		if i > 0 {
			dst = append(dst, ",\n"...)
		}
		if dst, err = messages[i].Append(dst, messages[i].Form()); err != nil {
			return nil, fmt.Errorf("messages[%d]: %w", i, err)
		}
	}
	return append(dst, ']'), nil
}
