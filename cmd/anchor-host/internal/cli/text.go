package cli

import (
	"fmt"
	"strconv"

	"github.com/anchor-host/anchor-host/internal/plain"
)

// OneCell returns a text for one cell of a table; see [plain.Cell].
func OneCell(text string) string { return plain.Cell(text) }

// Excerpt returns the beginning of a text; see [plain.Excerpt].
func Excerpt(text string) string { return plain.Excerpt(text) }

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
