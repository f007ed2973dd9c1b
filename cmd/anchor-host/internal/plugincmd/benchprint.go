package plugincmd

import (
	"bytes"
	"fmt"
	"os"
	"time"

	"github.com/anchor-host/anchor-host/cmd/anchor-host/internal/cli"
	"github.com/anchor-host/anchor-host/internal/authoring"
)

// benchReport is the output of "plugin bench -o json". Without the comparison it is a card
// for --compare.
type benchReport struct {
	*authoring.Card
	Compared []authoring.Ratio `json:"compared,omitempty"`
}

func saveCard(file string, card *authoring.Card) error {
	var b bytes.Buffer
	if err := cli.WriteJSON(&b, card); err != nil {
		return err
	}
	return os.WriteFile(file, b.Bytes(), 0o644)
}

func printCard(a *cli.App, format string, card *authoring.Card, ratios []authoring.Ratio) error {
	var b bytes.Buffer
	if format == "json" {
		if err := cli.WriteJSON(&b, benchReport{card, ratios}); err != nil {
			return err
		}
		return a.Emit(&b)
	}
	cli.Table(&b, nil, [][]string{
		{"plugin", fmt.Sprintf("%s %s, %s, %s", card.Plugin, card.Version, sizeText(card.Size), shortDigest(card.Digest))},
		{"call", fmt.Sprintf("%s of %d items (%s), state %s, %s", card.Operation, card.Items, cli.OneCell(card.Input), card.State, card.Platform)},
	})
	b.WriteByte('\n')
	rows := make([][]string, len(card.Rows))
	for i, c := range card.Rows {
		rows[i] = []string{
			string(c.Lane), fmt.Sprint(c.Calls), microText(c.P50), microText(c.P95), fmt.Sprint(c.Fuel),
			sizeText(c.Memory), sizeText(c.In), sizeText(c.Out), fmt.Sprint(c.Tokens),
		}
	}
	cli.Table(&b, []string{"LANE", "CALLS", "P50", "P95", "FUEL", "MEMORY", "IN", "OUT", "TOKENS ADDED"}, rows)
	if len(ratios) > 0 {
		b.WriteByte('\n')
		writeRatios(&b, ratios)
	}
	return a.EmitText(&b)
}

// writeRatios writes a line for each figure, and marks those that are worse.
func writeRatios(b *bytes.Buffer, ratios []authoring.Ratio) {
	var rows [][]string
	worse := 0
	for _, r := range ratios {
		ratio, verdict := "-", ""
		if r.Ratio > 0 {
			ratio = fmt.Sprintf("%.2f", r.Ratio)
		}
		if r.Worse {
			verdict = "worse"
			worse++
		}
		rows = append(rows, []string{string(r.Lane), r.Figure, figureText(r.Figure, r.Before), figureText(r.Figure, r.Now), ratio, verdict})
	}
	cli.Table(b, []string{"LANE", "FIGURE", "BEFORE", "NOW", "RATIO", ""}, rows)
	if worse > 0 {
		fmt.Fprintf(b, "\n%d of %d figures are worse\n", worse, len(ratios))
	}
}

func figureText(figure string, v float64) string {
	switch figure {
	case "p50", "p95":
		return microText(v)
	case "memory", "in", "out":
		return sizeText(int64(v))
	}
	return fmt.Sprint(int64(v))
}

// microText formats a time in microseconds with three digits.
func microText(us float64) string {
	d := time.Duration(us * 1e3)
	switch {
	case d < 10*time.Microsecond:
		return d.Round(10 * time.Nanosecond).String()
	case d < time.Millisecond:
		return d.Round(100 * time.Nanosecond).String()
	case d < 10*time.Millisecond:
		return d.Round(10 * time.Microsecond).String()
	}
	return d.Round(100 * time.Microsecond).String()
}
