package jsbuild

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/anchor-host/anchor-host/internal/plain"
)

// schemaNode is what a type takes of a JSON Schema.
type schemaNode struct {
	Type        any                        `json:"type"`
	Description string                     `json:"description"`
	Properties  map[string]json.RawMessage `json:"properties"`
	Required    []string                   `json:"required"`
	Additional  json.RawMessage            `json:"additionalProperties"`
	Items       json.RawMessage            `json:"items"`
	Enum        []json.RawMessage          `json:"enum"`
	Const       json.RawMessage            `json:"const"`
	Default     json.RawMessage            `json:"default"`
	AnyOf       []json.RawMessage          `json:"anyOf"`
	OneOf       []json.RawMessage          `json:"oneOf"`
	Ref         string                     `json:"$ref"`
}

// deepest is how many levels of a schema have types. What is further down is of any type.
const deepest = 8

// Interface returns an interface of TypeScript for a schema of an object. A member with a default is
// always there, as the host fills it in.
func Interface(name string, schema json.RawMessage) string {
	n := nodeOf(schema)
	text := ""
	if n.Description != "" {
		text = "/** " + comment(n.Description) + " */\n"
	}
	return text + "export interface " + name + " " + n.object("", deepest) + "\n"
}

// nodeOf reads a schema. One that is no object says nothing.
func nodeOf(schema json.RawMessage) (n schemaNode) {
	_ = json.Unmarshal(schema, &n) // true and false are schemas, too
	return n
}

// typeOf returns the type of a schema. indent is that of the line on which it stands.
func typeOf(schema json.RawMessage, indent string, depth int) string {
	n := nodeOf(schema)
	switch {
	case depth == 0:
		return "any"
	case n.Ref != "":
		return n.Ref[strings.LastIndexByte(n.Ref, '/')+1:]
	case n.Const != nil:
		return literals([]json.RawMessage{n.Const})
	case len(n.Enum) > 0:
		return literals(n.Enum)
	case len(n.AnyOf)+len(n.OneOf) > 0:
		return union(slices.Concat(n.AnyOf, n.OneOf), func(s json.RawMessage) string { return typeOf(s, indent, depth-1) })
	}
	if list, ok := n.Type.([]any); ok {
		return union(list, func(name any) string { return n.named(name, indent, depth) })
	}
	return n.named(n.Type, indent, depth)
}

// union joins types, each once.
func union[T any](list []T, of func(T) string) string {
	var names []string
	for _, e := range list {
		if name := of(e); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return strings.Join(names, " | ")
}

// literals are the values of an enumeration, which are JSON and so values of JavaScript.
func literals(values []json.RawMessage) string {
	return union(values, func(v json.RawMessage) string {
		var plain any
		if json.Unmarshal(v, &plain) != nil {
			return "any"
		}
		switch plain.(type) {
		case map[string]any, []any:
			return "any"
		}
		b, err := json.Marshal(plain)
		if err != nil {
			return "any"
		}
		return string(b)
	})
}

// named returns the type with a name of JSON Schema.
func (n *schemaNode) named(name any, indent string, depth int) string {
	switch name {
	case "string", "boolean", "null":
		return name.(string)
	case "integer", "number":
		return "number"
	case "array":
		item := "any"
		if n.Items != nil {
			item = typeOf(n.Items, indent, depth-1)
		}
		if strings.Contains(item, " | ") {
			item = "(" + item + ")"
		}
		return item + "[]"
	case "object":
		if n.Properties != nil {
			return n.object(indent, depth)
		}
		value := "any"
		if a := nodeOf(n.Additional); a.Type != nil || a.Ref != "" {
			value = typeOf(n.Additional, indent, depth-1)
		}
		return "Record<string, " + value + ">"
	}
	return "any"
}

// identifier matches the names that need no quotes.
var identifier = regexp.MustCompile(`^[A-Za-z_$][A-Za-z0-9_$]*$`)

// object returns the members between braces.
func (n *schemaNode) object(indent string, depth int) string {
	text := "{\n"
	for _, key := range slices.Sorted(maps.Keys(n.Properties)) {
		p := nodeOf(n.Properties[key])
		if p.Description != "" {
			text += indent + "  /** " + comment(p.Description) + " */\n"
		}
		name, mark := key, "?"
		if !identifier.MatchString(key) {
			b, err := json.Marshal(key)
			if err != nil {
				continue
			}
			name = string(b)
		}
		if slices.Contains(n.Required, key) || p.Default != nil {
			mark = ""
		}
		text += fmt.Sprintf("%s  %s%s: %s;\n", indent, name, mark, typeOf(n.Properties[key], indent+"  ", depth-1))
	}
	return text + indent + "}"
}

// comment makes a text fit for a comment of one line.
func comment(text string) string {
	return strings.ReplaceAll(plain.Line(strings.Join(strings.Fields(text), " ")), "*/", "* /")
}
