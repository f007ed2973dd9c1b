package format

import (
	"cmp"
	"encoding/json"
	"fmt"
	"reflect"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/anchor-host/anchor-host/pipeline/core"
	"github.com/anchor-host/anchor-host/pipeline/message"
)

// DefaultMaxOutputTokens is what an answer may take where an API demands a number and nobody
// states one. Every model of Anthropic accepts it.
const DefaultMaxOutputTokens = message.DefaultMaxOutputTokens

// Params are what the body of a request states besides the window.
type Params struct {
	// Model is the name of the model. Empty: the body names none.
	Model string
	// MaxOutputTokens is the largest number of tokens of the answer. 0: the body states none,
	// or DefaultMaxOutputTokens if it names a model and the API demands a number.
	MaxOutputTokens int
}

// demanded returns the number of tokens of the answer for an API that demands one.
func (p Params) demanded() int {
	if p.Model == "" {
		return p.MaxOutputTokens
	}
	return cmp.Or(p.MaxOutputTokens, DefaultMaxOutputTokens)
}

// CheckTools returns an error unless raw is a JSON list of objects without repeated members. It
// does not check the objects: each API has its own, and new ones.
func CheckTools(raw json.RawMessage) error {
	var tools []json.RawMessage
	if !jsontext.Value(raw).IsValid() || json.Unmarshal(raw, &tools) != nil || tools == nil {
		return fmt.Errorf("tools: %.40s: %w (want a JSON list)", raw, core.ErrInvalid)
	}
	for i, tool := range tools {
		if tool[0] != '{' {
			return fmt.Errorf("tools[%d]: %.40s: %w (want an object)", i, tool, core.ErrInvalid)
		}
	}
	return nil
}

// Body is an output that is the body of a request.
type Body interface {
	// Append writes the body as JSON. indent is the indentation of each level, none for one
	// line. The tools are written as they came, byte for byte.
	Append(dst []byte, indent string) ([]byte, error)
}

// member is a member of a body.
type member struct {
	name  string
	value any
	// always writes a value that is empty.
	always bool
}

// appendMembers writes an object. A [json.RawMessage] is written as it is.
func appendMembers(dst []byte, indent string, members ...member) ([]byte, error) {
	gap, colon, end := "", ":", ""
	if indent != "" {
		gap, colon, end = "\n"+indent, ": ", "\n"
	}
	before := "{" + gap
	enc := json.NewEncoder((*appender)(&dst))
	enc.SetEscapeHTML(false)
	enc.SetIndent(indent, indent)
	for _, m := range members {
		if !m.always && reflect.ValueOf(m.value).IsZero() {
			continue
		}
		dst = append(append(append(append(dst, before...), '"'), m.name...), '"')
		dst = append(dst, colon...)
		before = "," + gap
		if raw, ok := m.value.(json.RawMessage); ok {
			dst = append(dst, raw...)
			continue
		}
		if err := enc.Encode(m.value); err != nil {
			return nil, fmt.Errorf("%s: %w", m.name, err)
		}
		dst = dst[:len(dst)-1] // the encoder ends with a new line
	}
	if before[0] == '{' {
		return append(dst, "{}"...), nil
	}
	return append(append(dst, end...), '}'), nil
}

// appender is a writer at the end of a slice.
type appender []byte

func (a *appender) Write(p []byte) (int, error) {
	*a = append(*a, p...)
	return len(p), nil
}
