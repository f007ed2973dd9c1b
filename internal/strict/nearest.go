package strict

import (
	"fmt"
	"strings"

	"github.com/anchor-host/anchor-host/internal/nearest"
)

// Hint returns the remedy for an unknown name, in brackets: the most similar candidate, or all
// candidates.
func Hint(name string, candidates []string) string {
	if near := nearest.Name(name, candidates); near != "" {
		return fmt.Sprintf(" (did you mean %.100q?)", near)
	}
	if len(candidates) == 0 {
		return ""
	}
	return fmt.Sprintf(" (want one of %s)", strings.Join(candidates, ", "))
}
