package rolloutcmd

import (
	"bytes"
	"cmp"
	"fmt"
	"strconv"

	"github.com/anchor-host/anchor-host/anchor/shadows"
	"github.com/anchor-host/anchor-host/cluster"
	"github.com/anchor-host/anchor-host/cmd/anchor-host/internal/cli"
)

// sentence says what hosts follow.
func sentence(d *cluster.Desired) string {
	switch {
	case d.Candidate != nil:
		return fmt.Sprintf("generation %d: version %s for %d %% of the conversations, %s for the others; %s", d.Generation, d.Candidate.Short(), d.Share(), d.Stable.Short(), d.Phase)
	case d.Outcome != "":
		return fmt.Sprintf("generation %d: version %s for all conversations; the last rollout was %s", d.Generation, d.Stable.Short(), d.Outcome)
	}
	return fmt.Sprintf("generation %d: version %s for all conversations", d.Generation, d.Stable.Short())
}

// text is a status for people.
func text(st *cluster.Status) string {
	var b bytes.Buffer
	d := st.Desired
	if d == nil {
		b.WriteString("there was no rollout yet (begin one with: anchor-host rollout start FILE)\n")
	} else {
		fmt.Fprintf(&b, "%s\n", sentence(d))
		fmt.Fprintf(&b, "last change by %s: %s\n", cli.OneCell(d.Who), cli.Dash(cli.OneCell(d.Why)))
		if st.Waits != "" {
			fmt.Fprintf(&b, "waits for %s\n", st.Waits)
		}
		numbers := cmp.Or(st.Numbers, d.Numbers)
		if numbers != nil {
			b.WriteByte('\n')
			cli.Table(&b, []string{"VERSION", "BUILDS", "FAILED", "P50", "P95", "FUEL P50", "FUEL P95"}, [][]string{
				row("stable", &numbers.Stable), row("candidate", &numbers.Candidate),
			})
		}
	}
	b.WriteByte('\n')
	rows := [][]string{}
	for i := range st.Hosts {
		h := &st.Hosts[i]
		rows = append(rows, []string{
			cli.OneCell(h.ID), string(h.State), strconv.FormatInt(h.Generation, 10), cli.Dash(h.Stable), cli.Dash(h.Candidate), strconv.FormatInt(h.Builds, 10),
			cli.OneCell(h.Build), cli.Dash(cli.Excerpt(h.Error)),
		})
	}
	cli.Table(&b, []string{"HOST", "STATE", "GENERATION", "STABLE", "CANDIDATE", "BUILDS", "PROGRAM", "ERROR"}, rows)
	if rows := shadowRows(st); len(rows) > 0 {
		b.WriteString("\nsecond versions of steps, on copies:\n")
		cli.Table(&b, []string{"HOST", "STEP", "SHADOW", "CALLS", "DROPPED", "FAILED", "OVERLAP", "ORDER", "QUALITY", "TOKENS", "TIME", "FUEL"}, rows)
	}
	if len(st.Versions) > 1 {
		fmt.Fprintf(&b, "\nthe hosts are split: they serve %s\n", cli.Count(len(st.Versions), "version"))
	}
	return b.String()
}

func row(name string, f *cluster.Figures) []string {
	return []string{
		name, strconv.FormatInt(f.Builds, 10), strconv.FormatInt(f.Failed, 10), fmt.Sprintf("%.3g ms", f.P50), fmt.Sprintf("%.3g ms", f.P95),
		fmt.Sprintf("%.3g M", f.Fuel50), fmt.Sprintf("%.3g M", f.Fuel95),
	}
}

// quality shows the difference in quality, and of how many questions it is.
func quality(q *shadows.Quality) string {
	switch {
	case q == nil:
		return "-"
	case q.Problem != "":
		return cli.OneCell(cli.Excerpt(q.Problem))
	}
	d := q.Difference
	return fmt.Sprintf("%+.2f (%+.2f to %+.2f) of %d/%d", d.Mean, d.Low, d.High, q.Questions, q.Judged)
}

// shadowRows compare the second versions of steps with the first ones. Ratios are of the second by the first.
func shadowRows(st *cluster.Status) (rows [][]string) {
	interval := func(m shadows.Mean) string { return fmt.Sprintf("%.2f (%.2f-%.2f)", m.Mean, m.Low, m.High) }
	ratio := func(second, first float64) string {
		if first == 0 {
			return "-"
		}
		return fmt.Sprintf("%.2fx", second/first)
	}
	for i := range st.Hosts {
		for _, r := range st.Hosts[i].Shadows {
			rows = append(rows, []string{
				cli.OneCell(st.Hosts[i].ID), cli.OneCell(r.Step), cli.OneCell(r.Use), strconv.FormatInt(r.Calls, 10), strconv.FormatInt(r.Dropped.Busy+r.Dropped.Fuel+r.Dropped.Large, 10),
				interval(r.Failures), interval(r.Overlap), interval(r.Order), quality(r.Quality), ratio(r.Second.Tokens, r.First.Tokens), ratio(r.Second.Milliseconds, r.First.Milliseconds), ratio(r.Second.Fuel, r.First.Fuel),
			})
		}
	}
	return rows
}
