package cli

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/anchor-host/anchor-host/internal/ledger"
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

// Count is a number of things, such as "1 plugin" or "2 plugins", of the name of one.
func Count[N int | int64](n N, one string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %ss", n, one)
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

// Usage says in one cell what was asked of a model or an embedder.
func Usage(l ledger.Line) string {
	parts := []string{Count(l.Calls, "call")}
	for _, p := range []struct {
		n    int64
		what string
	}{{l.Failed, "failed"}, {l.Cached, "cached"}, {l.Texts, "texts"}, {l.InputTokens, "tokens in"}, {l.OutputTokens, "tokens out"}} {
		if p.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", p.n, p.what))
		}
	}
	if l.CostUSD > 0 {
		parts = append(parts, fmt.Sprintf("%.4f USD", l.CostUSD))
	}
	if l.Unpriced {
		parts = append(parts, "no price")
	}
	text := strings.Join(parts, ", ")
	if l.Plugin != "" {
		text += " (" + OneCell(l.Plugin) + ")"
	}
	return text
}
