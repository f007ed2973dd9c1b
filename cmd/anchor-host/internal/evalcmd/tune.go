package evalcmd

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/anchor-host/anchor-host/anchor/eval"
	"github.com/anchor-host/anchor-host/cmd/anchor-host/internal/cli"
)

// finishTuning prints what tuning found.
func (e *evaluation) finishTuning(t *eval.Tuning) error {
	var b bytes.Buffer
	if e.flags.output == "json" {
		if err := cli.WriteJSON(&b, t); err != nil {
			return err
		}
	} else {
		writeTuning(&b, t)
	}
	if err := e.app.EmitText(&b); err != nil {
		return err
	}
	for _, w := range t.Warnings {
		e.app.Say("warning: %s", w)
	}
	return nil
}

// writeTuning writes a table for each retriever and each step, and the tuned values as YAML.
func writeTuning(b *bytes.Buffer, t *eval.Tuning) {
	fmt.Fprintf(b, "%s, tuned on %d queries, held out %d\n", t.Metric, t.Training, t.HeldOut)
	for _, r := range t.Results {
		fmt.Fprintf(b, "\n-- %s %s --\n", r.Kind, cli.OneCell(r.Name))
		var rows [][]string
		for _, row := range r.Rows {
			rows = append(rows, []string{cli.OneCell(row.Name), figure(row.Training), figure(row.HeldOut), valuesCell(row.Values)})
		}
		cli.Table(b, []string{"", "TRAINING", "HELD OUT", "VALUES"}, rows)
		d := r.Difference
		fmt.Fprintf(b, "held out, tuned minus configured: %s (95 %% interval %s to %s, p %.3f)\n", signedFigure(d.Difference), signedFigure(d.Low), signedFigure(d.High), d.P)
	}
	fmt.Fprintf(b, "\n-- for anchor.yaml --\n%s", t.YAML)
}

// valuesCell lists values by name.
func valuesCell(values map[string]float64) string {
	var list []string
	for _, name := range slices.Sorted(maps.Keys(values)) {
		list = append(list, cli.OneCell(name)+"="+strconv.FormatFloat(values[name], 'g', -1, 64))
	}
	return strings.Join(list, " ")
}
