package authoring

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/abi/manifest"
	"github.com/anchor-host/anchor-host/host/spec"
	"github.com/anchor-host/anchor-host/internal/strict"
)

// schemaTypes are the types of JSON Schema, and otherNames what other languages call them.
var (
	schemaTypes = []string{"array", "boolean", "integer", "null", "number", "object", "string"}
	otherNames  = map[string]string{
		"bool": "boolean", "int": "integer", "float": "number", "double": "number", "str": "string", "text": "string",
		"list": "array", "map": "object", "dict": "object",
	}
)

// The keywords of JSON Schema 2020-12, by what their value is.
var (
	onePart   = []string{"additionalProperties", "contains", "else", "if", "items", "not", "propertyNames", "then", "unevaluatedItems", "unevaluatedProperties"}
	partList  = []string{"allOf", "anyOf", "oneOf", "prefixItems"}
	partMap   = []string{"$defs", "dependentSchemas", "patternProperties", "properties"}
	counts    = []string{"maxContains", "maxItems", "maxLength", "maxProperties", "minContains", "minItems", "minLength", "minProperties"}
	amounts   = []string{"exclusiveMaximum", "exclusiveMinimum", "maximum", "minimum", "multipleOf"}
	switches  = []string{"deprecated", "readOnly", "uniqueItems", "writeOnly"}
	textWords = []string{"$anchor", "$comment", "$dynamicAnchor", "$dynamicRef", "$id", "$ref", "$schema", "contentEncoding",
		"contentMediaType", "description", "format", "pattern", "title"}
	nameLists = []string{"required"}
	anyValue  = []string{"$vocabulary", "const", "contentSchema", "default", "dependentRequired", "examples", "type"}

	keywords = slices.Sorted(slices.Values(slices.Concat(onePart, partList, partMap, counts, amounts, switches, textWords, nameLists, anyValue, []string{"enum"})))
)

// schemaLint collects the mistakes in the schemas of settings that a compiler of schemas accepts,
// or reports without their place.
type schemaLint struct {
	file  string
	found strict.Problems
}

// lintSchemas checks the schemas of a manifest.
func lintSchemas(file string, doc *strict.Node) error {
	l := &schemaLint{file: file}
	if n, ok := doc.Find("settings"); ok {
		l.part(n, "settings", 0)
	}
	if ops, ok := doc.Find("operations"); ok {
		for _, e := range ops.Entries() {
			if n, ok := e.Value.Find("settings"); ok {
				l.part(n, strict.Join(strict.Join("operations", e.Key), "settings"), 0)
			}
		}
	}
	return l.found.Err()
}

func (l *schemaLint) fail(at strict.Pos, path, format string, args ...any) {
	l.found = append(l.found, strict.Problem{File: l.file, Pos: at, Path: path, Message: fmt.Sprintf(format, args...)})
}

// maxSchemaDepth bounds the recursion. The host refuses deeper schemas.
const maxSchemaDepth = 64

// part checks one schema.
func (l *schemaLint) part(n *strict.Node, path string, depth int) {
	if n.Kind == strict.Bool || depth > maxSchemaDepth {
		return
	}
	if n.Kind != strict.Map {
		l.fail(n.Pos, path, "want a schema, an object such as {type: string}")
		return
	}
	before := len(l.found)
	for _, e := range n.Entries() {
		l.keyword(e, strict.Join(path, e.Key), depth)
	}
	l.required(n, path)
	if d, ok := n.Find("default"); ok && len(l.found) == before {
		l.defaultValue(n, d, strict.Join(path, "default"))
	}
}

func (l *schemaLint) keyword(e strict.Entry, path string, depth int) {
	is := func(list []string) bool { return slices.Contains(list, e.Key) }
	v := &e.Value
	want := func(what string, kinds ...strict.Kind) {
		if !slices.Contains(kinds, v.Kind) {
			l.fail(v.Pos, path, "want %s", what)
		}
	}
	switch {
	case strings.HasPrefix(e.Key, "x-"):
	case !is(keywords):
		l.fail(e.Pos, path, "unknown keyword of a schema%s", nearestKeyword(e.Key))
	case e.Key == "type":
		l.types(v, path)
	case is(onePart):
		l.part(v, path, depth+1)
	case is(partList):
		want("a list of schemas", strict.List)
		for i := range v.Items() {
			l.part(&v.Items()[i], fmt.Sprintf("%s[%d]", path, i), depth+1)
		}
	case is(partMap):
		want("an object with a schema for each name", strict.Map)
		for i := range v.Entries() {
			p := &v.Entries()[i]
			l.part(&p.Value, strict.Join(path, p.Key), depth+1)
		}
	case is(counts):
		want("a whole number", strict.Int)
	case is(amounts):
		want("a number", strict.Int, strict.Float)
	case is(switches):
		want("true or false", strict.Bool)
	case is(textWords):
		want("a string", strict.String)
	case is(nameLists):
		want("a list of names", strict.List)
	case e.Key == "enum":
		want("a list of values", strict.List)
	}
}

// required checks that an object that allows only the keys of properties can have those that it
// requires.
func (l *schemaLint) required(n *strict.Node, path string) {
	names, requires := n.Find("required")
	properties, stated := n.Find("properties")
	others, closed := n.Find("additionalProperties")
	_, patterns := n.Find("patternProperties")
	if !requires || !stated || !closed || patterns || others.Kind != strict.Bool || others.Text != "false" {
		return
	}
	keys, known := make([]string, len(properties.Entries())), map[string]bool{}
	for i, e := range properties.Entries() {
		keys[i], known[e.Key] = e.Key, true
	}
	for i, name := range names.Items() {
		if name.Kind == strict.String && !known[name.Text] && len(l.found) < strict.MaxProblems {
			l.fail(name.Pos, fmt.Sprintf("%s[%d]", strict.Join(path, "required"), i), "requires %.100q, which properties does not have%s", name.Text, strict.Hint(name.Text, keys))
		}
	}
}

// nearestKeyword suggests one keyword. There are too many to list them.
func nearestKeyword(key string) string {
	if hint := strict.Hint(key, keywords); strings.HasPrefix(hint, " (did") {
		return hint
	}
	return " (see https://json-schema.org/draft/2020-12; names that begin with x- are yours)"
}

// types checks the keyword type.
func (l *schemaLint) types(v *strict.Node, path string) {
	names := []strict.Node{*v}
	if v.Kind == strict.List {
		names = v.Items()
	}
	for i := range names {
		n := &names[i]
		switch other := otherNames[strings.ToLower(n.Text)]; {
		case n.Kind == strict.String && slices.Contains(schemaTypes, n.Text):
		case n.Kind == strict.String && other != "":
			l.fail(n.Pos, path, "unknown type %.100q (did you mean %q?)", n.Text, other)
		case n.Kind == strict.String:
			l.fail(n.Pos, path, "unknown type %.100q%s", n.Text, strict.Hint(n.Text, schemaTypes))
		default:
			l.fail(n.Pos, path, "want the name of a type: %s", strings.Join(schemaTypes, ", "))
		}
	}
}

// defaultValue checks a default against its own schema. References lead out of the part, so a part
// that has one is left to the compiler.
func (l *schemaLint) defaultValue(schema, value *strict.Node, path string) {
	const key = "value"
	wrapped, err := json.Marshal(map[string]any{"type": "object", "properties": map[string]any{key: schema.Any()}})
	if err != nil || strings.Contains(string(wrapped), `"$ref"`) {
		return
	}
	s := &spec.Spec{Name: key, Manifest: &manifest.Manifest{Settings: wrapped}}
	if _, err := s.CheckSettings(abi.OpInit, map[string]any{}); err != nil && strings.Contains(err.Error(), "settings schema: ") {
		return // the compiler says what is wrong with the schema
	}
	if _, err := s.CheckSettings(abi.OpInit, map[string]any{key: value.Any()}); err != nil {
		_, why, _ := strings.Cut(err.Error(), `key "value": `)
		l.fail(value.Pos, path, "breaks its own schema: %s", why)
	}
}
