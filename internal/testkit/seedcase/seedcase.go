// Package seedcase helps tests to run the cases of testdata.
package seedcase

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"
)

// Case is one case: an input and the outcome that is expected of it.
type Case struct {
	ID       string          `json:"id"`
	Area     string          `json:"area"`
	Input    json.RawMessage `json:"input"`
	Expected any             `json:"expected"`
}

// Differences lists the places where got differs from want, as "path: got, want". Numbers
// may differ by the tolerance.
func Differences(path string, got, want any, tolerance float64) []string {
	child := func(key string) string { return strings.TrimPrefix(path+"."+key, ".") }
	var out []string
	switch want := want.(type) {
	case map[string]any:
		g, ok := got.(map[string]any)
		if !ok {
			break
		}
		keys := slices.Sorted(maps.Keys(want))
		for key := range g {
			if _, ok := want[key]; !ok {
				keys = append(keys, key)
			}
		}
		for _, key := range keys {
			w, wanted := want[key]
			v, present := g[key]
			if wanted != present {
				out = append(out, fmt.Sprintf("%s: present %v, want %v", child(key), present, wanted))
				continue
			}
			out = append(out, Differences(child(key), v, w, tolerance)...)
		}
		return out
	case []any:
		g, ok := got.([]any)
		if !ok || len(g) != len(want) {
			break
		}
		for i := range want {
			out = append(out, Differences(child(fmt.Sprint(i)), g[i], want[i], tolerance)...)
		}
		return out
	case float64:
		if g, ok := got.(float64); ok && math.Abs(g-want) <= tolerance {
			return nil
		}
	default:
		if got == want {
			return nil
		}
	}
	return []string{fmt.Sprintf("%s: got %v, want %v", path, got, want)}
}

// JSON returns v as encoding/json reads it back.
func JSON(t *testing.T, v any) (out any) {
	t.Helper()
	data, err := json.Marshal(v)
	if err == nil {
		err = json.Unmarshal(data, &out)
	}
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// Decode decodes the input of a case.
func Decode(t *testing.T, c Case, to any) {
	t.Helper()
	if err := json.Unmarshal(c.Input, to); err != nil {
		t.Fatal(err)
	}
}
