package cli

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/anchor-host/anchor-host/internal/plain"
)

// OneCell returns a text for one cell of a table: each run of spaces, line breaks and control
// characters becomes one space.
func OneCell(text string) string {
	return strings.Join(strings.FieldsFunc(text, func(r rune) bool {
		return r == ' ' || plain.Acts(r)
	}), " ")
}

// Excerpt returns the beginning of a text, at most 60 characters on one line.
func Excerpt(text string) string {
	const longest = 60
	runes := []rune(OneCell(text))
	if len(runes) <= longest {
		return string(runes)
	}
	return string(runes[:longest-1]) + "…"
}

// Dash returns a text for a cell: a dash if it is empty.
func Dash(s string) string {
	if s == "" {
		return "-"
	}
	return OneCell(s)
}

// Fuel formats units of fuel: 0 becomes a dash.
func Fuel(units int64) string {
	if units == 0 {
		return "-"
	}
	return strconv.FormatInt(units, 10)
}

// Millis formats a time in milliseconds.
func Millis(t float64) string { return fmt.Sprintf("%.2f ms", t) }
