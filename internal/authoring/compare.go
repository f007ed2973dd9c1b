package authoring

import (
	"fmt"

	"github.com/anchor-host/anchor-host/host"
)

// Ratio says how one figure of a card compares with that of an earlier one.
type Ratio struct {
	Lane   host.Lane `json:"lane"`
	Figure string    `json:"figure"`
	Before float64   `json:"before"`
	Now    float64   `json:"now"`
	// Ratio is Now divided by Before; 0 when Before is 0.
	Ratio float64 `json:"ratio,omitempty"`
	// Worse means that the figure is worse by more than noise explains.
	Worse bool `json:"worse"`
}

// figures are the figures that Compare compares. A figure is worse when it exceeds slack
// times the earlier one: times vary, the others hardly do.
var figures = []struct {
	name  string
	slack float64
	of    func(*Cost) float64
}{
	{"p50", 1.25, func(c *Cost) float64 { return c.P50 }},
	{"p95", 1.5, func(c *Cost) float64 { return c.P95 }},
	{"fuel", 1.02, func(c *Cost) float64 { return float64(c.Fuel) }},
	{"memory", 1.05, func(c *Cost) float64 { return float64(c.Memory) }},
	{"in", 1.02, func(c *Cost) float64 { return float64(c.In) }},
	{"out", 1.02, func(c *Cost) float64 { return float64(c.Out) }},
	{"tokens", 1.02, func(c *Cost) float64 { return float64(c.Tokens) }},
}

// Compare compares two cards figure by figure, for the lanes that both have. Cards of
// different operations, inputs or numbers of items are an error.
func Compare(before, now *Card) ([]Ratio, error) {
	for _, c := range []struct{ what, before, now string }{
		{"operation", string(before.Operation), string(now.Operation)},
		{"input", before.Input, now.Input},
		{"number of items", fmt.Sprint(before.Items), fmt.Sprint(now.Items)},
		{"state", string(before.State), string(now.State)},
	} {
		if c.before != c.now {
			return nil, fmt.Errorf("the earlier card has %s %q, this one %q (both must measure the same calls)", c.what, c.before, c.now)
		}
	}
	var ratios []Ratio
	for _, row := range now.Rows {
		for _, old := range before.Rows {
			if old.Lane == row.Lane {
				ratios = append(ratios, compareRows(&old, &row)...)
			}
		}
	}
	if len(ratios) == 0 {
		return nil, fmt.Errorf("the earlier card has no lane in common with this one (measure both with the same --lane)")
	}
	return ratios, nil
}

func compareRows(before, now *Cost) []Ratio {
	ratios := make([]Ratio, len(figures))
	for i, f := range figures {
		r := Ratio{Lane: now.Lane, Figure: f.name, Before: f.of(before), Now: f.of(now)}
		r.Worse = r.Now > r.Before*f.slack
		if r.Before > 0 {
			r.Ratio = r.Now / r.Before
		}
		ratios[i] = r
	}
	return ratios
}
