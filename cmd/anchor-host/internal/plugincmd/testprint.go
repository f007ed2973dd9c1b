package plugincmd

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/anchor-host/anchor-host/abi/conformance"
	"github.com/anchor-host/anchor-host/cmd/anchor-host/internal/cli"
	"github.com/anchor-host/anchor-host/host"
	"github.com/anchor-host/anchor-host/internal/plain"
)

// testedPlugin is one plugin of a test.
type testedPlugin struct {
	File string `json:"file"`
	// Language is the name of the module's folder, if that is the name of a language.
	Language string              `json:"language,omitempty"`
	Plugin   string              `json:"plugin,omitempty"`
	Lanes    []host.Lane         `json:"lanes,omitempty"`
	Size     int64               `json:"size,omitempty"`
	Report   *conformance.Report `json:"report,omitempty"`
	Warnings []string            `json:"warnings,omitempty"`
	// Error says why the plugin could not be tested.
	Error string `json:"error,omitempty"`
}

func (p *testedPlugin) ok() bool { return p.Report != nil && p.Report.OK() }

// emitTests writes the report of one plugin, or a table of several.
func emitTests(a *cli.App, format string, tested []testedPlugin) error {
	var b bytes.Buffer
	switch {
	case format == "json":
		var doc any = map[string]any{"plugins": tested}
		if len(tested) == 1 {
			doc = tested[0]
		}
		if err := cli.WriteJSON(&b, doc); err != nil {
			return err
		}
	case len(tested) == 1:
		tested[0].write(&b)
	default:
		writeTestTable(&b, tested)
	}
	return a.EmitText(&b)
}

// write writes the report of one plugin: a line for each case and operation,
// with a column for each lane, then the failures.
func (p *testedPlugin) write(b *bytes.Buffer) {
	var rows [][]string
	at := map[string]int{}
	for _, r := range p.Report.Results {
		key := r.Case + " " + string(r.Operation)
		i, seen := at[key]
		if !seen {
			i = len(rows)
			at[key] = i
			rows = append(rows, []string{r.Case, cli.Dash(string(r.Operation)), "", "", "", ""})
		}
		column := map[string]int{"": 2, conformance.JSON: 3, conformance.Batch: 4}[r.Lane]
		rows[i][column] = fmt.Sprintf("%s %s", r.Verdict, timeText(r.Millis))
	}
	for _, row := range rows {
		if row[2] != "" { // about both lanes, or about none
			row[3] = row[2]
		}
	}
	for i, row := range rows {
		rows[i] = []string{row[0], row[1], cli.Dash(row[3]), cli.Dash(row[4])}
	}
	cli.Table(b, []string{"CASE", "OPERATION", "JSON", "BATCH"}, rows)
	p.writeNotes(b)
	p.writeFailures(b)
	r := p.Report
	fmt.Fprintf(b, "\n%s %s: %d passed, %d failed, %d skipped\n", r.Plugin, r.Version, r.Passed, r.Failed, r.Skipped)
	for _, c := range r.Costs {
		fmt.Fprintf(b, "%s, lane %s: %.0fµs per call for %d items\n", c.Operation, c.Lane, c.Micros, c.Items)
	}
}

// writeNotes writes why cases were skipped, each reason once, and other notes.
func (p *testedPlugin) writeNotes(b *bytes.Buffer) {
	seen := map[string]bool{}
	failed := p.Report.FailedCases()
	notRun := map[string][]string{}
	for _, r := range p.Report.Results {
		if r.Verdict == conformance.Fail || r.Detail == "" || seen[r.Case+r.Detail] {
			continue
		}
		if cause, ok := strings.CutPrefix(r.Detail, "see "); ok && slices.Contains(failed, cause) {
			seen[r.Case+r.Detail] = true
			notRun[cause] = append(notRun[cause], r.Case)
			continue
		}
		seen[r.Case+r.Detail] = true
		fmt.Fprintf(b, "\n%s: %s: %s", r.Verdict, r.Case, cli.OneCell(r.Detail))
	}
	for _, cause := range failed {
		switch n := notRun[cause]; len(n) {
		case 0:
		case 1:
			fmt.Fprintf(b, "\nskip: %s: see %s", n[0], cause)
		default:
			fmt.Fprintf(b, "\nskip: %d cases, from %s to %s: see %s", len(n), n[0], n[len(n)-1], cause)
		}
	}
	for _, n := range p.Report.Notes {
		fmt.Fprintf(b, "\nnote: %s", cli.OneCell(n))
	}
	for _, w := range p.Warnings {
		fmt.Fprintf(b, "\nwarning: %s", cli.OneCell(w))
	}
	if len(seen)+len(p.Report.Notes)+len(p.Warnings) > 0 {
		b.WriteString("\n")
	}
}

func (p *testedPlugin) writeFailures(b *bytes.Buffer) {
	for _, r := range p.Report.Results {
		if r.Verdict == conformance.Fail {
			b.WriteString("\n")
			writeFailure(b, r)
		}
	}
}

// writeFailure writes one failure.
func writeFailure(b *bytes.Buffer, r conformance.Result) {
	fmt.Fprintf(b, "FAIL %s\n  rule:   %s\n  seen:   %s\n  remedy: %s\n", failureName(&r), r.Rule, plain.Line(flagWords.Replace(r.Detail)), r.Remedy)
	writeTrace(b, r)
}

// plainLine is a line of what a guest wrote, or of its stack, as it can be printed.
func plainLine(line string) string {
	return plain.Line(strings.TrimRight(strings.TrimLeft(line, "\t"), " \t\r\n"))
}

// writeTrace writes what is known about the call that failed.
func writeTrace(b *bytes.Buffer, r conformance.Result) {
	for _, part := range []struct{ name, text string }{{"wrote", r.Wrote}, {"stack", readable(r.Stack)}} {
		name := part.name + ":"
		for line := range strings.Lines(part.text) {
			fmt.Fprintf(b, "  %-7s %s\n", name, plainLine(line))
			name = ""
		}
	}
	if r.Request != "" {
		fmt.Fprintf(b, "  request: %s\n  repeat with: %s\n", r.Request, r.Repeat)
	}
}

func writeTestTable(b *bytes.Buffer, tested []testedPlugin) {
	header := []string{"LANGUAGE", "PLUGIN", "LANES", "PASSED", "FAILED", "SKIPPED", "SIZE", "JSON", "BATCH", "STATUS"}
	rows := make([][]string, len(tested))
	for i := range tested {
		p := &tested[i]
		name, size := p.Plugin, "-"
		name = cmp.Or(name, p.File)
		if p.Size > 0 {
			size = sizeText(p.Size)
		}
		row := []string{cli.Dash(p.Language), name, cli.Dash(laneNames(p.Lanes, "+")), "-", "-", "-", size,
			p.cost(conformance.JSON), p.cost(conformance.Batch), p.status()}
		if r := p.Report; r != nil {
			row[3], row[4], row[5] = fmt.Sprint(r.Passed), fmt.Sprint(r.Failed), fmt.Sprint(r.Skipped)
		}
		rows[i] = row
	}
	cli.Table(b, header, rows)
	fmt.Fprintf(b, "\nJSON and BATCH: time per call for 1,000 items (retrieve: 20 items found).\n")
	for i := range tested {
		if p := &tested[i]; p.Report != nil && !p.ok() {
			fmt.Fprintf(b, "\n%s", p.File)
			p.writeFailures(b)
		}
	}
}

// cost returns the time of a call in a lane, for the first operation that has one.
func (p *testedPlugin) cost(lane string) string {
	if p.Report == nil {
		return "-"
	}
	for _, c := range p.Report.Costs {
		if c.Lane == lane {
			return fmt.Sprintf("%.0fµs", c.Micros)
		}
	}
	return "-"
}

func (p *testedPlugin) status() string {
	switch {
	case p.Error != "":
		return cli.OneCell(p.Error)
	case p.ok() && len(p.Report.Notes) > 0:
		return "ok, but it changed nothing"
	case p.ok():
		return "ok"
	}
	return "fails " + strings.Join(p.Report.FailedCases(), ", ")
}

// timeText formats milliseconds with two or three significant digits.
func timeText(ms float64) string {
	switch {
	case ms < 0.05:
		return ""
	case ms < 10:
		return fmt.Sprintf("%.1fms", ms)
	case ms < 10_000:
		return fmt.Sprintf("%.0fms", ms)
	}
	return fmt.Sprintf("%.1fs", ms/1e3)
}
