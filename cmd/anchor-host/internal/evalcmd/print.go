package evalcmd

import (
	"bytes"
	"fmt"
	"strconv"

	"github.com/anchor-host/anchor-host/anchor/eval"
	"github.com/anchor-host/anchor-host/cmd/anchor-host/internal/cli"
)

// writeEvaluation writes a report as tables, each under a heading.
func writeEvaluation(b *bytes.Buffer, r *eval.Report, worst int) {
	fmt.Fprintf(b, "%d of %d queries, %d relevant documents, %d documents in the corpus\n",
		r.Evaluated, r.Read, r.Relevant, r.Documents)
	cli.Table(b, nil, leftOut(r))
	for _, one := range reportsOf(r) {
		title := ""
		if r.Compare != nil {
			title = " of " + cli.OneCell(one.Config)
		}
		fmt.Fprintf(b, "\n-- loss waterfall%s --\n", title)
		writeWaterfall(b, one)
		fmt.Fprintf(b, "\n-- metrics after each stage%s --\n", title)
		writeMetrics(b, one)
		fmt.Fprintf(b, "\n-- relevant documents%s --\n", title)
		writeFates(b, one)
		if list := one.Worst(worst); len(list) > 0 {
			fmt.Fprintf(b, "\n-- worst queries%s --\n", title)
			writeWorst(b, one, list)
		}
	}
	if c := r.Compare; c != nil {
		b.WriteString("\n-- comparison in the window: the second minus the first --\n")
		writeDifferences(b, c.Window)
		b.WriteString("\n-- comparison after the last step --\n")
		writeDifferences(b, c.Steps)
	}
}

// reportsOf returns a report, followed by that of the second configuration if there is one.
func reportsOf(r *eval.Report) []*eval.Report {
	if r.Compare == nil {
		return []*eval.Report{r}
	}
	return []*eval.Report{r, r.Compare.Report}
}

// leftOut lists which queries and judgements do not count.
func leftOut(r *eval.Report) (rows [][]string) {
	for _, c := range []struct {
		what string
		n    int
	}{
		{"queries without judgements, left out", r.Unjudged},
		{"queries without relevant documents, left out", r.WithoutRelevant},
		{"queries beyond --limit, left out", r.BeyondLimit},
		{"judgements of documents that do not exist", r.MissingDocuments},
		{"judgements of queries that do not exist", r.MissingQueries},
	} {
		if c.n > 0 {
			rows = append(rows, []string{c.what + ":", strconv.Itoa(c.n)})
		}
	}
	return rows
}

func stageName(s eval.StageReport) string {
	if s.Kind == "window" {
		return "budget cut"
	}
	return cli.OneCell(s.Name)
}

func figure(v float64) string { return fmt.Sprintf("%.4f", v) }

// signedFigure formats a difference with its sign. A value that rounds to zero has no sign.
func signedFigure(v float64) string {
	if s := fmt.Sprintf("%+.4f", v); s != "+0.0000" && s != "-0.0000" {
		return s
	}
	return "0.0000"
}

// writeWaterfall writes the metrics after each stage and how the stage changed them.
func writeWaterfall(b *bytes.Buffer, r *eval.Report) {
	header := []string{"STAGE", "ITEMS"}
	for _, m := range r.Waterfall {
		header = append(header, m, "CHANGE")
	}
	var rows [][]string
	for _, s := range r.Stages {
		row := []string{stageName(s), fmt.Sprintf("%.1f", s.Items)}
		for _, m := range r.Waterfall {
			change := ""
			if s.Changes != nil {
				change = signedFigure(s.Changes[m])
			}
			row = append(row, figure(s.Metrics[m]), change)
		}
		rows = append(rows, row)
	}
	cli.Table(b, header, rows)
}

// writeMetrics writes a row for each metric, with the change by the budget cut.
func writeMetrics(b *bytes.Buffer, r *eval.Report) {
	header := []string{"METRIC"}
	for _, s := range r.Stages {
		header = append(header, stageName(s))
	}
	var rows [][]string
	for _, m := range r.Metrics {
		row := []string{m}
		for _, s := range r.Stages {
			row = append(row, figure(s.Metrics[m]))
		}
		rows = append(rows, append(row, signedFigure(r.Stages[len(r.Stages)-1].Changes[m])))
	}
	cli.Table(b, append(header, "CHANGE BY THE CUT"), rows)
}

func writeFates(b *bytes.Buffer, r *eval.Report) {
	var rows [][]string
	for _, f := range r.Fates {
		rows = append(rows, []string{cli.OneCell(f.String()), strconv.Itoa(f.Count), fmt.Sprintf("%.1f %%", 100*f.Share)})
	}
	cli.Table(b, []string{"FATE", "DOCUMENTS", "SHARE"}, rows)
}

// writeWorst writes the queries with the worst results, a row for each relevant document.
func writeWorst(b *bytes.Buffer, r *eval.Report, list []eval.QueryReport) {
	metric := r.Waterfall[1]
	var rows [][]string
	for _, q := range list {
		head := []string{cli.OneCell(q.ID), figure(q.Metrics[metric]), cli.Excerpt(q.Text)}
		for i := range q.Relevant {
			d := &q.Relevant[i]
			rows = append(rows, append(head, cli.OneCell(d.Document), cli.OneCell(d.String())))
			head = []string{"", "", ""}
		}
	}
	cli.Table(b, []string{"QUERY", metric, "TEXT", "DOCUMENT", "WHERE IT ENDED"}, rows)
}

func writeDifferences(b *bytes.Buffer, list []eval.Difference) {
	var rows [][]string
	for _, d := range list {
		rows = append(rows, []string{
			d.Metric, figure(d.Base), figure(d.Other), signedFigure(d.Difference),
			signedFigure(d.Low) + " to " + signedFigure(d.High), eval.PValue(d.P),
			strconv.Itoa(d.Better), strconv.Itoa(d.Worse), strconv.Itoa(d.Equal),
		})
	}
	cli.Table(b, []string{"METRIC", "FIRST", "SECOND", "DIFFERENCE", "95 % INTERVAL", "P", "BETTER", "WORSE", "EQUAL"}, rows)
}
