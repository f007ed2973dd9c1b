package settings

import (
	"encoding/json"
	"slices"
)

// Secret reports whether settings, as given to Check, hold a value that the schema marks as
// a secret, with "writeOnly": true. A mark that is not directly that of a property counts
// for all settings.
func (s *Schema) Secret(settings map[string]any) bool {
	raw, err := json.Marshal(settings)
	var given any
	if err != nil || json.Unmarshal(raw, &given) != nil {
		return true // Check says what is wrong
	}
	names := map[string]bool{}
	all := markedSecret(s.doc, names)
	return len(settings) > 0 && (all || holdsKey(given, names))
}

// markedSecret collects the names of properties that are marked, and reports whether
// anything else is.
func markedSecret(v any, names map[string]bool) (marked bool) {
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			marked = markedSecret(e, names) || marked
		}
	case map[string]any:
		properties, _ := v["properties"].(map[string]any)
		for name, p := range properties {
			if markedSecret(p, names) {
				names[name] = true
			}
		}
		for key, e := range v {
			if key != "properties" || properties == nil {
				marked = markedSecret(e, names) || marked
			}
		}
		marked = marked || v["writeOnly"] == true
	}
	return marked
}

// holdsKey reports whether a JSON value has one of the keys anywhere.
func holdsKey(v any, keys map[string]bool) bool {
	switch v := v.(type) {
	case []any:
		return slices.ContainsFunc(v, func(e any) bool { return holdsKey(e, keys) })
	case map[string]any:
		for key, e := range v {
			if keys[key] || holdsKey(e, keys) {
				return true
			}
		}
	}
	return false
}

// SecretTexts returns the texts among settings, a JSON document, that the schema marks as
// secrets. If a mark is not directly that of a property, they are all texts.
func (s *Schema) SecretTexts(settings []byte) []string {
	var given any
	names := map[string]bool{}
	if s == nil || json.Unmarshal(settings, &given) != nil {
		return nil
	}
	return textsOf(given, names, markedSecret(s.doc, names))
}

// textsOf returns the texts in a JSON value: those under the names, or all.
func textsOf(v any, names map[string]bool, all bool) (texts []string) {
	switch v := v.(type) {
	case string:
		if all {
			return []string{v}
		}
	case []any:
		for _, e := range v {
			texts = append(texts, textsOf(e, names, all)...)
		}
	case map[string]any:
		for key, e := range v {
			texts = append(texts, textsOf(e, names, all || names[key])...)
		}
	}
	return texts
}
