package cli

import (
	"bytes"
	"fmt"
	"os"
	"strings"

	"github.com/anchor-host/anchor-host/internal/builtdoc"
	"github.com/anchor-host/anchor-host/pipeline/explain"
	"github.com/anchor-host/anchor-host/pipeline/explain/svg"
)

// Draw writes drawings as SVG into a file; - is stdout. It is for a flag --svg.
func Draw(a *App, path string, drawings ...svg.Drawing) error {
	var b bytes.Buffer
	if err := svg.Write(&b, svg.Options{Page: true}, drawings...); err != nil {
		return err
	}
	if path == "-" {
		return a.Emit(&b)
	}
	if err := os.WriteFile(path, b.Bytes(), 0o666); err != nil {
		return fmt.Errorf("flag --svg: %w", err)
	}
	a.Say("%s: %d bytes", path, b.Len())
	return nil
}

// EmitDiff prints how two builds differ, as text or as JSON.
func EmitDiff(a *App, format string, first, second *builtdoc.Doc) error {
	var b bytes.Buffer
	d := builtdoc.Compare(first, second)
	if format == "json" {
		if err := WriteJSON(&b, d); err != nil {
			return err
		}
	} else {
		WriteDiff(&b, &d)
	}
	return a.EmitText(&b)
}

// WriteTraces writes each trace as a heading and one line for each event.
func WriteTraces(b *bytes.Buffer, d *builtdoc.Doc) {
	b.WriteString(d.Headline() + "\n")
	for i := range d.Traces {
		s := &d.Traces[i]
		fmt.Fprintf(b, "\n%s  %s  %s, priority %d, score %s, %d tokens  %s\n",
			outcomeWords[s.Outcome], OneCell(s.ID), s.Source, s.Priority, builtdoc.Score(s.Score), s.Tokens, Excerpt(s.Excerpt))
		for j := range s.Events {
			b.WriteString("    " + builtdoc.Sentence(&s.Events[j]) + "\n")
		}
	}
}

// outcomeWords are the outcomes in the words of the output.
var outcomeWords = map[explain.Outcome]string{
	explain.InWindow: "in", explain.OutOfWindow: "left out", explain.DroppedByStep: "dropped", explain.Undecided: "undecided",
}

// WriteDiff writes a difference: the sums as a table, then each item with its reasons.
func WriteDiff(b *bytes.Buffer, d *builtdoc.Diff) {
	fmt.Fprintf(b, "A: %s\nB: %s\n\n", OneCell(d.A), OneCell(d.B))
	for _, n := range d.Notes {
		b.WriteString("note: " + OneCell(n) + "\n\n")
	}
	row := func(name string, c explain.Change[int]) []string {
		return []string{name, fmt.Sprint(c.From), fmt.Sprint(c.To), fmt.Sprintf("%+d", c.To-c.From)}
	}
	Table(b, []string{"WINDOW", "A", "B", "CHANGE"}, [][]string{row("items", d.Items), row("tokens", d.Tokens), row("room", d.Room)})
	fmt.Fprintf(b, "\ncame: %d (%d tokens); went: %d (%d tokens); unchanged: %d\n",
		d.Came.Items, d.Came.Tokens, d.Went.Items, d.Went.Tokens, d.Same)
	for i := range d.Differ {
		it := &d.Differ[i]
		b.WriteString("\n" + strings.Join(it.Changes, ", ") + "  " + OneCell(it.ID) + "  " + string(it.Source))
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
