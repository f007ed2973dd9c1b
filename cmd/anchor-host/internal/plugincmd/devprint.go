package plugincmd

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/anchor-host/anchor-host/abi/conformance"
	"github.com/anchor-host/anchor-host/cmd/anchor-host/internal/cli"
)

// worthSaying is the change of a cost that noise does not explain.
const worthSaying = 0.2

// text returns what is new since the round before, which is nil for the first round.
func (r *round) text(before *round) *bytes.Buffer {
	var b bytes.Buffer
	if len(r.Changed) > 0 {
		fmt.Fprintf(&b, "%s  %s\n", r.clock(), cli.OneCell(listed(r.Changed)))
	}
	if r.Error != "" {
		fmt.Fprintf(&b, "%s  FAILED  %s\n", r.clock(), cli.OneCell(r.Error))
		return &b
	}
	for i := range r.Failures {
		if x := &r.Failures[i]; before == nil || !before.fails(x) || !slices.ContainsFunc(before.Failures, func(y conformance.Result) bool { return y.Detail == x.Detail }) {
			writeFailure(&b, *x)
		}
	}
	for _, part := range []struct {
		name  string
		lines []string
		old   func() []string
	}{
		{"note", r.Notes, func() []string { return before.Notes }},
		{"warning", r.Warnings, func() []string { return before.Warnings }},
	} {
		for _, line := range part.lines {
			if before == nil || !slices.Contains(part.old(), line) {
				fmt.Fprintf(&b, "%s: %s\n", part.name, cli.OneCell(line))
			}
		}
	}
	for _, name := range r.Fixed {
		fmt.Fprintf(&b, "fixed: %s\n", name)
	}
	verdict := "ok"
	if r.Failed > 0 {
		verdict = "FAILED"
	}
	fmt.Fprintf(&b, "%s  %-6s  %d passed, %d failed; built in %s, tested in %s", r.clock(), verdict, r.Passed, r.Failed, timeText(r.BuildMS), timeText(r.TestMS))
	if size := r.size(before); size != "" {
		fmt.Fprintf(&b, "; %s", size)
	}
	b.WriteString("\n")
	for _, c := range r.Costs {
		b.WriteString(costLine(c, before))
	}
	return &b
}

func (r *round) clock() string { return r.Time.Format("15:04:05") }

// listed names the first of some files.
func listed(names []string) string {
	const some = 5
	if len(names) > some {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:some], ", "), len(names)-some)
	}
	return strings.Join(names, ", ")
}

// size returns the size of the module if it is another one.
func (r *round) size(before *round) string {
	switch {
	case before == nil || before.Size == 0:
		return sizeText(r.Size)
	case before.Size == r.Size:
		return ""
	}
	return fmt.Sprintf("%s (%+d bytes)", sizeText(r.Size), r.Size-before.Size)
}

// costLine returns the cost of a call if it is another one.
func costLine(c conformance.Cost, before *round) string {
	change := ""
	if before != nil {
		i := slices.IndexFunc(before.Costs, func(o conformance.Cost) bool { return o.Operation == c.Operation && o.Lane == c.Lane })
		if i >= 0 && before.Costs[i].Micros > 0 {
			ratio := c.Micros / before.Costs[i].Micros
			if math.Abs(ratio-1) < worthSaying {
				return ""
			}
			change = fmt.Sprintf(" (%+.0f %%)", 100*(ratio-1))
		}
	}
	return fmt.Sprintf("%s, lane %s: %.0fµs per call for %d items%s\n", c.Operation, c.Lane, c.Micros, c.Items, change)
}

// failureName names a case, its operation and its lane.
func failureName(r *conformance.Result) string {
	where := strings.TrimSuffix(strings.Join(strings.Fields(string(r.Operation)+" "+r.Lane), ", lane "), ", lane ")
	if where == "" {
		return r.Case
	}
	return fmt.Sprintf("%s (%s)", r.Case, where)
}
