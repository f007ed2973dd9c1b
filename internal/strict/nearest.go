package strict

import "github.com/anchor-host/anchor-host/internal/nearest"

// Hint returns the remedy for an unknown name, in brackets: the most similar candidate, or the
// first candidates. It is empty if there is none.
func Hint(name string, candidates []string) string {
	if len(candidates) == 0 {
		return ""
	}
	return nearest.Hint(name, candidates)
}
