package abi

import (
	"strconv"
	"strings"
)

// Nearest returns the valid name closest to a misspelt one, or "" when none is
// close: about a third of its letters may differ, and something of the misspelt
// name must remain.
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

// hint says which name was meant, if one is near, or which names there are.
func hint(name string, valid []string) string {
	if n := Nearest(name, valid); n != "" {
		return " (did you mean \"" + n + "\"?)"
	}
	if len(valid) == 0 {
		return " (none is allowed here)"
	}
	return " (want one of " + strings.Join(valid, ", ") + ")"
}

// editDistance counts insertions, deletions, replacements and swaps of
// neighbours. Names longer than any valid one are cut, they match nothing.
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

// longestQuote bounds what messages repeat of a name that they were given.
const longestQuote = 64

// quote quotes a name for a message, cut to a bearable length.
func quote(s string) string {
	if len(s) > longestQuote {
		return strconv.Quote(s[:longestQuote]) + "…"
	}
	return strconv.Quote(s)
}
