package explaincmd

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/anchor-host/anchor-host/cmd/anchor-host/internal/cli"
	"github.com/anchor-host/anchor-host/internal/builtdoc"
	"github.com/anchor-host/anchor-host/pipeline/explain"
)

// writeDiff writes a difference: the sums as a table, then each item with its reasons.
func writeDiff(b *bytes.Buffer, d *builtdoc.Diff) {
	fmt.Fprintf(b, "A: %s\nB: %s\n\n", cli.OneCell(d.A), cli.OneCell(d.B))
	for _, n := range d.Notes {
		b.WriteString("note: " + cli.OneCell(n) + "\n\n")
	}
	row := func(name string, c explain.Change[int]) []string {
		return []string{name, fmt.Sprint(c.From), fmt.Sprint(c.To), fmt.Sprintf("%+d", c.To-c.From)}
	}
	cli.Table(b, []string{"WINDOW", "A", "B", "CHANGE"}, [][]string{row("items", d.Items), row("tokens", d.Tokens), row("room", d.Room)})
	fmt.Fprintf(b, "\ncame: %d (%d tokens); went: %d (%d tokens); unchanged: %d\n",
		d.Came.Items, d.Came.Tokens, d.Went.Items, d.Went.Tokens, d.Same)
	for i := range d.Differ {
		it := &d.Differ[i]
		b.WriteString("\n" + strings.Join(it.Changes, ", ") + "  " + cli.OneCell(it.ID) + "  " + string(it.Source))
		for _, change := range builtdoc.Changes(&explain.Event{Score: it.Score, Priority: it.Priority, Tokens: it.Tokens}) {
			b.WriteString(", " + change)
		}
		if it.Place != nil {
			fmt.Fprintf(b, ", place in the window %s → %s", placeWord(it.Place.From), placeWord(it.Place.To))
		}
		b.WriteByte('\n')
		if it.Text != nil {
			fmt.Fprintf(b, "    text: %q → %q\n", it.Text.From, it.Text.To)
		}
		for _, w := range it.Why {
			b.WriteString("    " + w + "\n")
		}
	}
}

// placeWord formats a place in the window.
func placeWord(place int) string {
	if place == 0 {
		return "none"
	}
	return fmt.Sprint(place)
}
