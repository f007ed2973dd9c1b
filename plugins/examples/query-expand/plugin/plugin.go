// Package plugin writes variants of a query with other words for the same
// thing.
package plugin

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// MaxVariants is the largest number of variants, including the query itself.
const MaxVariants = 32

// Settings are the settings of a step.
type Settings struct {
	// Synonyms are alternatives for a word or phrase. Case and punctuation do not matter.
	Synonyms map[string][]string `json:"synonyms"`
	// Acronyms are like Synonyms, but the case of the key matters: IT is not it.
	Acronyms map[string][]string `json:"acronyms"`
	// BothWays also replaces a synonym by its key and by the other synonyms of that key.
	// Default true.
	BothWays bool `json:"both_ways"`
	// Plurals adds variants with the singular of a word replaced by its plural, or the
	// reverse. Default false, because a retriever that stems does not need it.
	Plurals bool `json:"plurals"`
	// MaxVariants bounds the number of queries, the original included, 1 to 32.
	// Default 4.
	MaxVariants int `json:"max_variants"`

	table table
}

// Defaults sets the values that the settings leave out.
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

// Variants returns the query followed by its variants, each once, at most MaxVariants in
// all. The first variant has every word replaced. The others have one word replaced, in the
// order of the query.
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

type variants struct {
	query string
	limit int
	seen  map[string]bool
	list  []string
}

// add adds a variant, unless it is known or there are enough.
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

// addAll adds the variant in which the first alternative replaces every match.
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

// addRound adds a variant for each match that has an alternative number n. It reports whether
// there was such a match and whether there is room for more variants.
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
