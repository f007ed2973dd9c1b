package strict

import (
	"fmt"
	"strings"
)

// Nearest returns the candidate most like name, or "" when none is near
// enough to be a slip of the keyboard.
func Nearest(name string, candidates []string) string {
	best, bestDistance := "", len(name)/2+1
	if bestDistance > 4 {
		bestDistance = 4
	}
	for _, c := range candidates {
		if d := distance(strings.ToLower(name), c); d < bestDistance {
			best, bestDistance = c, d
		}
	}
	return best
}

// Hint returns the bracketed remedy for an unknown name: the nearest
// candidate, or all of them.
func Hint(name string, candidates []string) string {
	if near := Nearest(name, candidates); near != "" {
		return fmt.Sprintf(" (did you mean %q?)", near)
	}
	if len(candidates) == 0 {
		return ""
	}
	return fmt.Sprintf(" (want one of %s)", strings.Join(candidates, ", "))
}

// distance counts the insertions, deletions, replacements and swaps of
// adjacent characters that turn a into b.
func distance(a, b string) int {
	x, y := []rune(a), []rune(b)
	before, last, row := make([]int, len(y)+1), make([]int, len(y)+1), make([]int, len(y)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(x); i++ {
		row[0] = i
		for j := 1; j <= len(y); j++ {
			cost := 1
			if x[i-1] == y[j-1] {
				cost = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && x[i-1] == y[j-2] && x[i-2] == y[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(y)]
}
