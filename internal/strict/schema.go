package strict

import (
	"encoding"
	"reflect"
	"strconv"
)

// A Schemer returns its own JSON Schema. It is meant for values that may have several forms.
type Schemer interface{ JSONSchema() map[string]any }

var (
	schemerType = reflect.TypeFor[Schemer]()
	textType    = reflect.TypeFor[encoding.TextUnmarshaler]()
)

// Schema returns the JSON Schema (2020-12) of what [Decode] accepts for a type.
func Schema(t reflect.Type) map[string]any {
	switch p := reflect.PointerTo(t); {
	case p.Implements(schemerType):
		return reflect.New(t).Interface().(Schemer).JSONSchema()
	case p.Implements(textType):
		return map[string]any{"type": "string"}
	}
	switch t.Kind() {
	case reflect.Pointer:
		return Schema(t.Elem())
	case reflect.Struct:
		return objectSchema(t)
	case reflect.Map:
		return map[string]any{"type": "object", "additionalProperties": Schema(t.Elem())}
	case reflect.Slice:
		return map[string]any{"type": "array", "items": Schema(t.Elem())}
	case reflect.String:
		return map[string]any{"type": "string"}
	case reflect.Bool:
		return map[string]any{"type": "boolean"}
	case reflect.Int, reflect.Int64:
		return map[string]any{"type": "integer"}
	case reflect.Float32, reflect.Float64:
		return map[string]any{"type": "number"}
	}
	return map[string]any{}
}

func objectSchema(t reflect.Type) map[string]any {
	s := fieldsSchema(t, Fields(t))
	if short := shortOf(Fields(t)); short != nil {
		return map[string]any{"oneOf": []any{Schema(short.Type(t)), s}}
	}
	return s
}

func fieldsSchema(t reflect.Type, fields []Field) map[string]any {
	properties, required := map[string]any{}, []string{}
	for _, f := range fields {
		properties[f.Key] = f.schema(Schema(f.Type(t)))
		if f.Required {
			required = append(required, f.Key)
		}
	}
	s := map[string]any{"type": "object", "properties": properties, "additionalProperties": false}
	if len(required) > 0 {
		s["required"] = required
	}
	return s
}

// schema adds the tags of the field to the schema of its type.
func (f Field) schema(s map[string]any) map[string]any {
	target := s
	if items, ok := s["items"].(map[string]any); ok && len(f.Enum) > 0 {
		target = items
	}
	if len(f.Enum) > 0 {
		target["enum"] = f.Enum
	}
	most := "maximum"
	if s["type"] == "array" {
		most = "maxItems"
	}
	for name, text := range map[string]string{"minimum": f.Min, most: f.Max, "default": f.Default} {
		if text != "" {
			kind := s["type"]
			if name == "maxItems" {
				kind = "integer"
			}
			s[name] = literal(kind, text)
		}
	}
	if f.Doc != "" {
		s["description"] = f.Doc
	}
	return s
}

// literal reads the text of a tag as a value of the given JSON type.
func literal(kind any, text string) any {
	switch kind {
	case "integer", "number", nil: // nil: one of several types
		if x, err := strconv.ParseFloat(text, 64); err == nil {
			return x
		}
	case "boolean":
		return text == "true"
	}
	return text
}
