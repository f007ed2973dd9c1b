package settings

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"

	"github.com/anchor-host/anchor-host/internal/nearest"
	"github.com/anchor-host/anchor-host/internal/plain"
)

// explain makes one line of a validation error: the first thing that is wrong.
func (s *Schema) explain(err error) string {
	var ve *jsonschema.ValidationError
	if !errors.As(err, &ve) {
		return plain.Line(err.Error())
	}
	for len(ve.Causes) > 0 {
		ve = ve.Causes[0]
	}
	at := strings.Join(ve.InstanceLocation, ".")
	switch k := ve.ErrorKind.(type) {
	case *kind.AdditionalProperties:
		return s.unknownKey(ve.InstanceLocation, k.Properties)
	case *kind.FalseSchema:
		if n := len(ve.InstanceLocation); n > 0 {
			return s.unknownKey(ve.InstanceLocation[:n-1], ve.InstanceLocation[n-1:])
		}
	}
	text := ""
	if out := ve.BasicOutput(); out.Error != nil {
		text = out.Error.String()
	}
	if at == "" {
		return plain.Line(text)
	}
	return plain.Line(fmt.Sprintf("key %.100q: %s", at, text))
}

// unknownKey names a key the schema does not know and those it knows.
func (s *Schema) unknownKey(at, unknown []string) string {
	doc := s.doc
	for _, name := range at {
		props, _ := doc["properties"].(map[string]any)
		doc, _ = props[name].(map[string]any)
	}
	props, _ := doc["properties"].(map[string]any)
	allowed := slices.Sorted(maps.Keys(props))
	slices.Sort(unknown)
	key := strings.Join(append(slices.Clone(at), unknown[0]), ".")
	switch nearest := nearest.Name(unknown[0], allowed); {
	case nearest != "":
		return fmt.Sprintf("unknown key %.100q (did you mean %.100q?)", key, nearest)
	case len(allowed) == 0:
		return fmt.Sprintf("unknown key %.100q (there are no settings)", key)
	}
	return fmt.Sprintf("unknown key %.100q (want one of %s)", key, strings.Join(allowed, ", "))
}
