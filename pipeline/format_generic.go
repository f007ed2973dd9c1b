package pipeline

import (
	"context"
	"strings"
)

// Generic formats as plain text under the headings SYSTEM, MEMORY and CONTEXT. Its
// output is a string.
type Generic struct{}

// FormatType returns "generic".
func (Generic) FormatType() string { return "generic" }

// Format returns the sections that have items, separated by blank lines.
func (Generic) Format(_ context.Context, w *Window) (any, error) {
	s := divide(w)
	var parts []string
	for _, section := range []struct {
		heading string
		items   []*Item
	}{{"=== SYSTEM ===\n", s.system}, {"=== MEMORY ===\n", s.turns}, {"=== CONTEXT ===\n", s.context}} {
		if len(section.items) > 0 {
			parts = append(parts, join(section.heading, section.items, "\n"))
		}
	}
	return strings.TrimSpace(strings.Join(parts, blankLine)), nil
}
