// Package nearest finds valid names that are similar to a misspelt name.
package nearest

import (
	"cmp"
	"slices"
	"strings"

	"github.com/agnivade/levenshtein"
)

// longest is how many bytes of a name are compared. Valid names are shorter.
const longest = 64

// Name returns the valid name that is most similar to a misspelt one, or "" if none is similar.
// About a third of the letters may differ, and at least one letter must be the same.
func Name(name string, valid []string) string {
	best, least := "", 0
	lower := strings.ToLower(name[:min(len(name), longest)])
	for _, v := range valid {
		d := distance(lower, v)
		if d <= (len(v)+2)/3 && d < len(name) && (best == "" || d < least) {
			best, least = v, d
		}
	}
	return best
}

// Names returns the n valid names that are closest to name, the closest first.
func Names(name string, valid []string, n int) []string {
	sorted := slices.Clone(valid)
	slices.SortStableFunc(sorted, func(a, b string) int { return cmp.Compare(distance(name, a), distance(name, b)) })
	return sorted[:min(n, len(sorted))]
}

// Hint returns the remedy for an unknown name, as text in brackets after a space: the valid name
// that was probably meant, or all valid names.
func Hint(name string, valid []string) string {
	if n := Name(name, valid); n != "" {
		return " (did you mean \"" + n + "\"?)"
	}
	if len(valid) == 0 {
		return " (none is allowed here)"
	}
	return " (want one of " + strings.Join(valid, ", ") + ")"
}

// distance counts the letters to insert, delete and replace. Only the beginning of a long
// name counts, so that the work is bounded.
func distance(a, b string) int {
	return levenshtein.ComputeDistance(a[:min(len(a), longest)], b[:min(len(b), longest)])
}
