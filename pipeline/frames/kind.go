package frames

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode"

	"github.com/anchor-host/anchor-host/internal/decode"
	"github.com/anchor-host/anchor-host/pipeline"
)

// Kind says what a frame records. It is one of the constants, or an open kind that [Other]
// makes. The zero value is not a kind.
type Kind string

// The kinds of git-internal.
const (
	IntentAnalysis Kind = "intent_analysis" // how a request is understood; protected
	StepSummary    Kind = "step_summary"    // what a plan step achieved
	CodeChange     Kind = "code_change"     // a digest of changed files
	SystemState    Kind = "system_state"    // the state of the surroundings
	ErrorRecovery  Kind = "error_recovery"  // a failure and its repair
	Checkpoint     Kind = "checkpoint"      // an explicit save point; protected
	ToolCall       Kind = "tool_call"       // the result of a tool
)

// Kinds lists the constants in a fixed order.
var Kinds = []Kind{IntentAnalysis, StepSummary, CodeChange, SystemState, ErrorRecovery, Checkpoint, ToolCall}

const otherPrefix = "other:"

// Other returns an open kind, which an application names itself. Any text is allowed:
// Other("checkpoint") is not [Checkpoint], and it is not protected.
func Other(text string) Kind { return Kind(otherPrefix + strings.ToValidUTF8(text, "\uFFFD")) }

// ParseKind reads a kind as it is written on a command line: the name of a constant,
// or "other:" and a text.
func ParseKind(s string) (Kind, error) {
	k := Kind(s)
	if text, ok := k.other(); ok {
		if strings.TrimSpace(text) == "" {
			return "", fmt.Errorf("kind %.100q: %w (want a text after other:)", s, pipeline.ErrInvalid)
		}
		return Other(text), nil
	}
	if !k.Valid() {
		return "", fmt.Errorf("kind %.100q: %w (want one of %v, or other:TEXT)", s, pipeline.ErrInvalid, Kinds)
	}
	return k, nil
}

// other returns the text of an open kind.
func (k Kind) other() (text string, ok bool) { return strings.CutPrefix(string(k), otherPrefix) }

// String returns the name of the kind. For an open kind this is the text alone.
func (k Kind) String() string {
	text, _ := k.other()
	return text
}

// Valid reports whether k is a constant or an open kind.
func (k Kind) Valid() bool {
	switch k {
	case IntentAnalysis, StepSummary, CodeChange, SystemState, ErrorRecovery, Checkpoint, ToolCall:
		return true
	}
	_, ok := k.other()
	return ok
}

// Protected reports whether frames of the kind are never evicted.
func (k Kind) Protected() bool { return k == IntentAnalysis || k == Checkpoint }

// MarshalJSON writes a constant as a string and an open kind as {"other": "text"}.
func (k Kind) MarshalJSON() ([]byte, error) {
	if text, ok := k.other(); ok {
		return json.Marshal(map[string]string{"other": text})
	}
	if !k.Valid() {
		return nil, fmt.Errorf("kind %.100q: %w (want one of %v)", string(k), pipeline.ErrInvalid, Kinds)
	}
	return json.Marshal(string(k))
}

// UnmarshalJSON reads what MarshalJSON writes. On an error the kind is unchanged.
func (k *Kind) UnmarshalJSON(data []byte) error {
	var text string
	if len(data) > 0 && data[0] == '{' {
		if err := decode.Object(data, decode.Required("other", &text)); err != nil {
			return fmt.Errorf("kind: %w", err)
		}
		*k = Other(text)
		return nil
	}
	if err := decode.Value("kind", data, &text); err != nil {
		return err
	}
	read := Kind(text)
	if _, open := read.other(); open || !read.Valid() {
		return fmt.Errorf("kind %.100q: %w (want one of %v, or an object with the key other)", text, pipeline.ErrInvalid, Kinds)
	}
	*k = read
	return nil
}

// label returns a kind as text for a model. It has one line and no closing bracket, so that
// ownObservation can match it.
func label(k Kind) string {
	text := strings.Map(func(r rune) rune {
		switch {
		case r == ']':
			return ')'
		case unicode.IsControl(r):
			return ' '
		}
		return r
	}, k.String())
	if text == "" {
		return "other"
	}
	return text
}
