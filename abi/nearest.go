package abi

import (
	"strconv"
	"strings"
)

// Nearest returns the valid name closest to a misspelt one, or "" if none is close. About
// a third of the letters may differ, and at least one must be the same.
func Nearest(name string, valid []string) string {
	best, bestDist := "", 0
	for _, v := range valid {
		d := editDistance(strings.ToLower(name), v)
		if d <= (len(v)+2)/3 && d < len(name) && (best == "" || d < bestDist) {
			best, bestDist = v, d
		}
	}
	return best
}

// hint names the valid name that was probably meant, or else all valid names.
func hint(name string, valid []string) string {
	if n := Nearest(name, valid); n != "" {
		return " (did you mean \"" + n + "\"?)"
	}
	if len(valid) == 0 {
		return " (none is allowed here)"
	}
	return " (want one of " + strings.Join(valid, ", ") + ")"
}

// editDistance counts insertions, deletions, replacements and swaps of neighbours. Names
// that are longer than any valid one are cut first: they match none anyway.
func editDistance(a, b string) int {
	const longest = 64
	if len(a) > longest || len(b) > longest {
		return longest
	}
	var rows [3][longest + 1]int
	before, prev, cur := &rows[0], &rows[1], &rows[2]
	for j := 0; j <= len(b); j++ {
		prev[j] = j
	}
	for i := 1; i <= len(a); i++ {
		cur[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			cur[j] = min(prev[j]+1, cur[j-1]+1, prev[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				cur[j] = min(cur[j], before[j-2]+1)
			}
		}
		before, prev, cur = prev, cur, before
	}
	return prev[len(b)]
}

// longestQuote bounds how much of a given name a message repeats.
const longestQuote = 64

// quote quotes a name for a message and cuts it to longestQuote.
func quote(s string) string {
	if len(s) > longestQuote {
		return strconv.Quote(s[:longestQuote]) + "…"
	}
	return strconv.Quote(s)
}
