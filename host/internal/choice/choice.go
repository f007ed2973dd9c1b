// Package choice decodes values that are one of a few words.
package choice

import (
	"fmt"
	"slices"
	"strings"

	"github.com/anchor-host/anchor-host/host/internal/guesttext"
	"github.com/anchor-host/anchor-host/internal/nearest"
)

// Decode sets to if text is one of the words. Otherwise its error names the nearest word, or
// all of them.
func Decode[T ~string](to *T, text []byte, words []T) error {
	if word := T(text); slices.Contains(words, word) {
		*to = word
		return nil
	}
	known := texts(words)
	given := guesttext.Clip(string(text), 64)
	if near := nearest.Name(given, known); near != "" {
		return fmt.Errorf("unknown value %q (did you mean %q?)", given, near)
	}
	return fmt.Errorf("unknown value %q (want one of %s)", given, strings.Join(known, ", "))
}

// List joins two words or more, as in "a, b or c".
func List[T ~string](words []T) string {
	known, last := texts(words), len(words)-1
	return strings.Join(known[:last], ", ") + " or " + known[last]
}

func texts[T ~string](words []T) []string {
	out := make([]string, len(words))
	for i, w := range words {
		out[i] = string(w)
	}
	return out
}
