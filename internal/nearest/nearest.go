// Package nearest finds the valid names that a misspelt one was probably meant to be.
package nearest

import (
	"cmp"
	"slices"
	"strings"

	"github.com/agnivade/levenshtein"
)

// longest is how many bytes of a name are compared. Valid names are shorter.
const longest = 64

// Name returns the valid name closest to a misspelt one, or "" if none is close. About a
// third of the letters may differ, and at least one must be the same.
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

// Hint is the remedy of an error about an unknown name, in brackets behind a blank: the valid
// name that was probably meant, or else all valid names.
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
