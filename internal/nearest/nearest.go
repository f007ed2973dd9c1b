// Package nearest finds valid names that are similar to a misspelt name.
package nearest

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/agnivade/levenshtein"
)

// longest is how many bytes of a name are compared. Valid names are shorter.
const longest = 64

// maxCompared is with how many valid names of about its length a misspelt one is compared, and
// maxListed how many bytes of valid names a hint lists: they can come from outside, in any number.
const maxCompared, maxListed = 200, 200

// Name returns the valid name that is most similar to a misspelt one, or "" if none is similar.
// About a third of the letters may differ, and at least one letter must be the same. Of many valid
// names, only the first are compared.
func Name(name string, valid []string) string {
	best, least, compared := "", 0, 0
	lower := strings.ToLower(name[:min(len(name), longest)])
	for _, v := range valid {
		most := (len(v) + 2) / 3
		if letters := min(len(v), longest); letters-len(lower) > most || (len(lower)-letters)/utf8.UTFMax > most {
			continue // so many letters would differ
		}
		if compared++; compared > maxCompared {
			break
		}
		if d := distance(lower, v); d <= most && d < len(name) && (best == "" || d < least) {
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
// that was probably meant, or the first valid names. Long ones are cut.
func Hint(name string, valid []string) string {
	if n := Name(name, valid); n != "" {
		return " (did you mean " + strconv.Quote(cut(n)) + "?)"
	}
	if len(valid) == 0 {
		return " (none is allowed here)"
	}
	list := cut(valid[0])
	for i, v := range valid[1:] {
		if len(list)+len(v) > maxListed {
			list += fmt.Sprintf(" and %d others", len(valid)-1-i)
			break
		}
		list += ", " + v
	}
	return " (want one of " + list + ")"
}

// cut returns what a hint has of a name.
func cut(name string) string {
	if len(name) <= 2*longest {
		return name
	}
	return strings.ToValidUTF8(name[:2*longest], "") + "…"
}

// distance counts the letters to insert, delete and replace. Only the beginning of a long
// name counts, so that the work is bounded.
func distance(a, b string) int {
	return levenshtein.ComputeDistance(a[:min(len(a), longest)], b[:min(len(b), longest)])
}
