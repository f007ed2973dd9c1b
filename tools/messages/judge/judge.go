// Package judge says whether the API of a model would take a request body. It holds the body
// against the types of the official Go SDKs and against the documented rules of each API.
// It shares no code with the product.
//
// Members and types whose names begin with "x_" stand for what is newer than the SDKs.
// The judge passes over them, as an API does that knows them. Everything else is strict.
package judge

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
)

// The forms of request bodies.
const (
	Anthropic = "anthropic"        // POST /v1/messages
	Chat      = "openai"           // POST /v1/chat/completions
	Responses = "openai-responses" // POST /v1/responses
	Gemini    = "gemini"           // POST /v1beta/models/NAME:generateContent
)

// Forms are all forms.
var Forms = []string{Anthropic, Chat, Responses, Gemini}

// Refusal is the error of a body that breaks a rule.
type Refusal struct {
	Message int    // index of the message or item, -1 for the body
	Member  string // member within it, such as "content.2.text", may be empty
	Rule    string // the rule, in short and the same for each body that breaks it
	Detail  string // what was seen, may be empty
}

// Error names the place, the rule and what was seen.
func (r *Refusal) Error() string {
	place := "body"
	if r.Message >= 0 {
		place = fmt.Sprintf("message %d", r.Message)
	}
	if r.Member != "" {
		place += "." + r.Member
	}
	if r.Detail == "" {
		return place + ": " + r.Rule
	}
	return place + ": " + r.Rule + ": " + r.Detail
}

func refuse(message int, member, rule string, detail ...any) error {
	return &Refusal{message, member, rule, fmt.Sprint(detail...)}
}

// Accept returns nil if the API of the form would take the body, and a *Refusal otherwise.
func Accept(form string, body []byte) error {
	root, err := read(body)
	if err != nil {
		return refuse(-1, "", "the body is not a JSON object", err)
	}
	known, _ := withoutNew(root).(map[string]any)
	var rules, types func(map[string]any) error
	switch form {
	case Anthropic:
		rules, types = anthropicRules, anthropicTypes
	case Chat:
		rules, types = chatRules, chatTypes
	case Responses:
		rules, types = responsesRules, responsesTypes
	case Gemini:
		rules, types = geminiRules, geminiTypes
	default:
		return refuse(-1, "", "the form is unknown", form)
	}
	// The rules see what the types do not know, too: an unknown block is still content.
	if err := rules(root); err != nil {
		return err
	}
	return types(known)
}

// read decodes one JSON object without duplicate names and keeps numbers as they are written.
func read(body []byte) (map[string]any, error) {
	if err := uniqueNames(body); err != nil {
		return nil, err
	}
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	var root map[string]any
	if err := d.Decode(&root); err != nil {
		return nil, err
	}
	if root == nil {
		return nil, fmt.Errorf("the value is null")
	}
	return root, nil
}

// uniqueNames refuses an object that names a member twice, and anything after the document
// (RFC 8259, section 4: names should be unique, as receivers differ in which they take).
func uniqueNames(body []byte) error {
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	type level struct {
		names map[string]bool // nil in a list
		key   bool            // a name comes next
	}
	var open []*level
	for {
		token, err := d.Token()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		var top *level
		if len(open) > 0 {
			top = open[len(open)-1]
		}
		if name, ok := token.(string); ok && top != nil && top.names != nil && top.key {
			if top.names[name] {
				return fmt.Errorf("the member %q comes twice", name)
			}
			top.names[name], top.key = true, false
			continue
		}
		switch token {
		case json.Delim('{'):
			open = append(open, &level{names: map[string]bool{}, key: true})
			continue
		case json.Delim('['):
			open = append(open, &level{})
			continue
		case json.Delim('}'), json.Delim(']'):
			if open = open[:len(open)-1]; len(open) > 0 {
				top = open[len(open)-1]
			}
		}
		if top != nil {
			top.key = true
		}
	}
}

// isNew reports whether a name stands for something newer than the SDKs.
func isNew(name string) bool { return strings.HasPrefix(name, "x_") }

// withoutNew copies a value without the members and typed objects that are newer than the SDKs.
func withoutNew(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, e := range v {
			if !isNew(k) {
				out[k] = withoutNew(e)
			}
		}
		return out
	case []any:
		out := []any{}
		for _, e := range v {
			if o, ok := e.(map[string]any); !ok || !allNew(o) {
				out = append(out, withoutNew(e))
			}
		}
		return out
	}
	return v
}

// allNew reports whether an object as a whole is newer than the SDKs: its type is, or all of
// its members are (a part of Gemini has no type).
func allNew(o map[string]any) bool {
	if t, ok := o["type"].(string); ok {
		return isNew(t)
	}
	for k := range o {
		if !isNew(k) {
			return false
		}
	}
	return len(o) > 0
}

// Small readers of a decoded tree. They return zero values for anything of another kind.

func str(o map[string]any, name string) string {
	s, _ := o[name].(string)
	return s
}

func list(o map[string]any, name string) []any {
	l, _ := o[name].([]any)
	return l
}

func object(v any) map[string]any {
	o, _ := v.(map[string]any)
	return o
}

// at joins the steps to a member.
func at(steps ...any) string {
	parts := make([]string, len(steps))
	for i, s := range steps {
		parts[i] = fmt.Sprint(s)
	}
	return strings.Join(parts, ".")
}

// messageObjects returns the objects of a list, and refuses anything else.
func messageObjects(root map[string]any, name string) ([]map[string]any, error) {
	l, ok := root[name].([]any)
	if !ok || len(l) == 0 {
		return nil, refuse(-1, name, "the list of messages is missing or empty")
	}
	out := make([]map[string]any, len(l))
	for i, v := range l {
		o, ok := v.(map[string]any)
		if !ok {
			return nil, refuse(i, "", "a message is an object")
		}
		out[i] = o
	}
	return out, nil
}
