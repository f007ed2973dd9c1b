package message

import (
	"encoding/json"
	"slices"
	"strings"
)

// silent are members that no model reads as text.
var silent = []string{
	"type", "status", "cache_control", "signature", "thoughtSignature", "thought_signature", "encrypted_content", "encrypted_index",
}

// Silent reports whether no model reads a member of this name as text, such as a signature.
func Silent(member string) bool { return slices.Contains(silent, member) }

// Visible returns JSON without the members that no model reads as text. raw is an object, or a
// member with its name.
func Visible(raw string) string {
	if !strings.Contains(raw, "ncrypted_") && !strings.Contains(raw, "ignature") {
		return raw
	}
	key, value := "", raw
	if !strings.HasPrefix(raw, "{") { // a member: "key":value
		key, value, _ = strings.Cut(raw, ":")
	}
	var doc any
	if json.Unmarshal([]byte(value), &doc) != nil {
		return raw
	}
	if Silent(strings.Trim(key, `"`)) {
		return ""
	}
	dropSilent(doc)
	data, err := json.Marshal(doc)
	if err != nil {
		return raw
	}
	return key + string(data)
}

func dropSilent(doc any) {
	switch doc := doc.(type) {
	case []any:
		for _, e := range doc {
			dropSilent(e)
		}
	case map[string]any:
		for key, e := range doc {
			if slices.Contains(silent[1:], key) {
				delete(doc, key)
			} else {
				dropSilent(e)
			}
		}
	}
}
