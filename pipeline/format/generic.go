package format

import (
	"context"
	"strings"

	"github.com/anchor-host/anchor-host/pipeline/core"
)

// Default is the name of the format that is used where none is named.
const Default = "generic"

// Generic formats as plain text under the headings SYSTEM, MEMORY, CONTEXT and QUESTION. Its
// output is a string.
type Generic struct{}

// questionHeading stands before the query.
const questionHeading = "=== QUESTION ===\n"

// FormatType returns "generic".
func (Generic) FormatType() string { return Default }

// Format returns the sections that have items, separated by blank lines.
func (Generic) Format(_ context.Context, w *core.Window) (any, error) {
	s := divide(w)
	for i := range w.Items {
		s.lost = append(s.lost, lostParts(&w.Items[i])...)
	}
	var parts []string
	if len(s.system) > 0 {
		parts = append(parts, join("=== SYSTEM ===\n", s.system, "\n"))
	}
	if len(s.turns) > 0 {
		parts = append(parts, join("=== MEMORY ===\n", s.turns, "\n"))
	}
	if s.context.n > 0 {
		parts = append(parts, s.context.join("=== CONTEXT ===\n", "\n"))
	}
	if s.query != "" {
		parts = append(parts, questionHeading+s.query)
	}
	return s.formatted(strings.TrimSpace(strings.Join(parts, blankLine))), nil
}
