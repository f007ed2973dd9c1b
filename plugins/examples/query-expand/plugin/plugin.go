// Package plugin writes variants of a query with other words for the same
// thing.
package plugin

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// MaxVariants is the most variants there can be, the query itself included.
const MaxVariants = 32

// Settings are the settings of a step.
type Settings struct {
	// Synonyms are other words or phrases for a word or phrase, compared without
	// regard to case and punctuation.
	Synonyms map[string][]string `json:"synonyms"`
	// Acronyms are like Synonyms, but the key counts only as it is written: IT
	// is not it.
	Acronyms map[string][]string `json:"acronyms"`
	// BothWays also replaces a synonym by its key and by its siblings. Default
	// true.
	BothWays bool `json:"both_ways"`
	// Plurals adds variants with singular and plural of a word exchanged.
	// Default false: a retriever that stems has no use for it.
	Plurals bool `json:"plurals"`
	// MaxVariants bounds the number of queries, the original included, 1 to 32.
	// Default 4.
	MaxVariants int `json:"max_variants"`

	table table
}

// Defaults are the values of what is not set.
func (s *Settings) Defaults() { *s = Settings{BothWays: true, MaxVariants: 4} }

// Validate refuses values out of their range and entries without words, and
// prepares the settings for use.
func (s *Settings) Validate() error {
	if s.MaxVariants < 1 || s.MaxVariants > MaxVariants {
		return fmt.Errorf("max_variants %d: not within 1..%d", s.MaxVariants, MaxVariants)
	}
	s.table = newTable()
	for _, group := range []struct {
		name    string
		entries map[string][]string
		exact   bool
	}{{"synonyms", s.Synonyms, false}, {"acronyms", s.Acronyms, true}} {
		for _, key := range slices.Sorted(maps.Keys(group.entries)) {
			if err := s.table.add(key, group.entries[key], group.exact, s.BothWays); err != nil {
				return fmt.Errorf("%s: %w", group.name, err)
			}
		}
	}
	return nil
}

// Variants returns the query followed by its variants, each once, at most
// MaxVariants in all. First comes the one with every word replaced, then those
// with one replaced, by place in the query.
func Variants(query string, s *Settings) []string {
	v := &variants{query: query, limit: s.MaxVariants, seen: make(map[string]bool)}
	v.add(query)
	found := s.table.matches(query)
	if len(found) > 1 {
		v.addAll(found)
	}
	for round := 0; v.addRound(found, round); round++ {
	}
	if s.Plurals {
		for _, m := range plurals(query) {
			v.replace(m, m.other[0])
		}
	}
	return v.list
}

// match is a place in the query and what can be written there instead.
type match struct {
	start, end int
	other      []string
}

type variants struct {
	query string
	limit int
	seen  map[string]bool
	list  []string
}

// add takes in a variant, unless it is known or there are enough.
func (v *variants) add(text string) {
	key := strings.ToLower(text)
	if len(v.list) < v.limit && !v.seen[key] {
		v.seen[key] = true
		v.list = append(v.list, text)
	}
}

func (v *variants) replace(m match, other string) {
	v.add(v.query[:m.start] + other + v.query[m.end:])
}

// addAll replaces every match by its first alternative.
func (v *variants) addAll(found []match) {
	var b strings.Builder
	done := 0
	for _, m := range found {
		b.WriteString(v.query[done:m.start])
		b.WriteString(m.other[0])
		done = m.end
	}
	b.WriteString(v.query[done:])
	v.add(b.String())
}

// addRound replaces each match alone by its alternative number n, and reports
// whether any had so many and there is room for more.
func (v *variants) addRound(found []match, n int) bool {
	more := false
	for _, m := range found {
		if n < len(m.other) {
			v.replace(m, m.other[n])
			more = true
		}
	}
	return more && len(v.list) < v.limit
}
