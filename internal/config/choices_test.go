package config

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/anchor-host/anchor-host/pipeline/fill"
)

// The tags of Config state the names that packages of pipeline know. A tag cannot be derived
// from them, so this test holds the two equal.
func TestTagsNameEachChoice(t *testing.T) {
	for field, names := range map[string][]string{
		"Fit": names(fill.Fits), "Fill": fill.StrategyNames(), "Truncate": names(fill.Cuttings), "Order": names(fill.WindowOrders),
	} {
		f, _ := reflect.TypeFor[Config]().FieldByName(field)
		if have := strings.Split(f.Tag.Get("enum"), ","); !slices.Equal(have, names) {
			t.Errorf("enum of the field %s in config.go: %q, want %q", field, have, names)
		}
	}
	for field, names := range map[string][]string{"Format": Formats, "Tokenizer": Tokenizers} {
		f, _ := reflect.TypeFor[Config]().FieldByName(field)
		want := strings.Join(names, ", ") + ", or a plugin."
		if field == "Tokenizer" {
			want = strings.Replace(want, "or a plugin", "a file such as {file: llama/tokenizer.json}, or a plugin", 1)
		}
		if f.Tag.Get("doc") != want {
			t.Errorf("doc of the field %s in config.go: %q, want %q", field, f.Tag.Get("doc"), want)
		}
	}
}

// The words of a collection's settings are those that an index takes.
func TestTagsOfCollections(t *testing.T) {
	for _, field := range []string{"StopWords", "Vectors"} {
		f, _ := reflect.TypeFor[Collection]().FieldByName(field)
		for word := range strings.SplitSeq(f.Tag.Get("enum"), ",") {
			c := Collection{}
			reflect.ValueOf(&c).Elem().FieldByName(field).SetString(word)
			if s, err := c.Settings().Complete(); err != nil || string(s.Vectors) != word && s.StopWords != word {
				t.Errorf("%s %s: %+v, error %v", field, word, s, err)
			}
		}
	}
}

// names returns named values as strings.
func names[T ~string](values []T) []string {
	out := make([]string, len(values))
	for i, v := range values {
		out[i] = string(v)
	}
	return out
}
