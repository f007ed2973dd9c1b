package eval

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
)

// Report is the result of an evaluation. Its JSON form is the output of the command.
type Report struct {
	// Config names the configuration.
	Config string `json:"config"`
	Counts
	// Metrics are the names of the metrics in the requested order, and Waterfall those of
	// the waterfall charts.
	Metrics   []string      `json:"metrics"`
	Waterfall []string      `json:"waterfall"`
	Stages    []StageReport `json:"stages"`
	// Fates are the numbers of relevant documents with each fate, over all queries.
	Fates []FateCount `json:"fates"`
	// Queries are in the order of the file.
	Queries  []QueryReport `json:"queries"`
	Times    Times         `json:"times_ms"`
	Warnings []string      `json:"warnings,omitempty"`
	// Compare is the comparison with another configuration.
	Compare *Comparison `json:"compare,omitempty"`
}

// StageReport describes one stage. Its figures are means over the queries.
type StageReport struct {
	Name string `json:"name"`
	// Kind is "step" or "window".
	Kind      string             `json:"kind"`
	Items     float64            `json:"items"`
	Documents float64            `json:"documents"`
	Metrics   map[string]float64 `json:"metrics"`
	// Changes are the differences from the previous stage; the first stage has none.
	Changes map[string]float64 `json:"changes,omitempty"`
	// Skipped is the number of queries for which the step failed and was skipped.
	Skipped int `json:"skipped,omitempty"`
}

// FateCount is the number of relevant documents with one fate.
type FateCount struct {
	Fate   Fate    `json:"fate"`
	Step   string  `json:"step,omitempty"`
	Reason string  `json:"reason,omitempty"`
	Count  int     `json:"count"`
	Share  float64 `json:"share"`
}

// QueryReport is one query.
type QueryReport struct {
	Query
	// Metrics are the metrics of the window.
	Metrics  map[string]float64 `json:"metrics"`
	Relevant []Relevant         `json:"relevant"`
	TimeMS   float64            `json:"time_ms"`
}

// Times are percentiles of the wall time of a build, in milliseconds.
type Times struct {
	P50 float64 `json:"p50"`
	P95 float64 `json:"p95"`
	Max float64 `json:"max"`
}

// Comparison is a second configuration, evaluated on the same queries.
type Comparison struct {
	Report *Report `json:"report"`
	// Steps compares the rankings after the last step, and Window those of the window.
	Steps  []Difference `json:"steps"`
	Window []Difference `json:"window"`
}

// NewReport summarizes a run.
func NewReport(r *Run, config string) *Report {
	report := &Report{Config: config, Counts: r.Set.Counts}
	for _, m := range r.Metrics {
		report.Metrics = append(report.Metrics, m.String())
	}
	for _, m := range waterfallMetrics(r.Depth) {
		report.Waterfall = append(report.Waterfall, m.String())
	}
	for i := range r.Outcomes[0].Stages {
		report.Stages = append(report.Stages, r.stage(i))
	}
	for i := range report.Stages[1:] {
		report.Stages[i+1].Changes = changes(report.Stages[i].Metrics, report.Stages[i+1].Metrics)
	}
	var times []float64
	for i := range r.Outcomes {
		o := &r.Outcomes[i]
		q := QueryReport{Query: o.Query.Query, Relevant: o.Relevant, TimeMS: o.TimeMS, Metrics: map[string]float64{}}
		for j, name := range report.Metrics {
			q.Metrics[name] = o.Stages[len(o.Stages)-1].Values[j]
		}
		report.Queries = append(report.Queries, q)
		times = append(times, o.TimeMS)
	}
	slices.Sort(times)
	report.Times = Times{P50: percentile(times, 0.5), P95: percentile(times, 0.95), Max: times[len(times)-1]}
	report.Fates = r.fates()
	report.Warnings = r.warnings(report)
	return report
}

// percentile returns the value at the nearest rank.
func percentile(sorted []float64, p float64) float64 {
	return sorted[max(0, int(math.Ceil(p*float64(len(sorted))))-1)]
}

func (r *Run) stage(i int) StageReport {
	s := StageReport{Name: r.Outcomes[0].Stages[i].Name, Kind: "step", Metrics: map[string]float64{}}
	if i == len(r.Outcomes[0].Stages)-1 {
		s.Kind = "window"
	}
	for j := range r.Outcomes {
		o := &r.Outcomes[j].Stages[i]
		s.Items += float64(o.Items)
		s.Documents += float64(o.Documents)
		if o.Skipped != "" {
			s.Skipped++
		}
	}
	s.Items /= float64(len(r.Outcomes))
	s.Documents /= float64(len(r.Outcomes))
	for j, m := range r.Metrics {
		s.Metrics[m.String()] = mean(r.values(i, j))
	}
	return s
}

func changes(before, after map[string]float64) map[string]float64 {
	out := make(map[string]float64, len(after))
	for name, v := range after {
		out[name] = v - before[name]
	}
	return out
}

// fates counts the fates, in the order: in the window, never found, then by stage.
func (r *Run) fates() (list []FateCount) {
	total := 0
	counts := map[FateCount]int{}
	for i := range r.Outcomes {
		for _, d := range r.Outcomes[i].Relevant {
			counts[FateCount{Fate: d.Fate, Step: d.Step, Reason: string(d.Reason)}]++
			total++
		}
	}
	for f, n := range counts {
		f.Count, f.Share = n, float64(n)/float64(total)
		list = append(list, f)
	}
	order := []Fate{InWindow, NeverFound, Dropped, Cut}
	step := func(name string) int {
		return slices.IndexFunc(r.Outcomes[0].Stages, func(s StageOutcome) bool { return s.Name == name })
	}
	slices.SortFunc(list, func(a, b FateCount) int {
		return cmp.Or(
			cmp.Compare(slices.Index(order, a.Fate), slices.Index(order, b.Fate)),
			cmp.Compare(step(a.Step), step(b.Step)),
			cmp.Compare(b.Count, a.Count), strings.Compare(a.Reason, b.Reason),
		)
	})
	return list
}

// warnings returns sentences about circumstances that make the figures less meaningful.
func (r *Run) warnings(report *Report) (list []string) {
	for _, s := range report.Stages {
		if s.Skipped > 0 {
			list = append(list, fmt.Sprintf("step %q was skipped for %d of %d queries: %s", s.Name, s.Skipped, len(r.Outcomes), r.skipReason(s.Name)))
		}
	}
	found := 0.0
	for _, s := range report.Stages {
		found += s.Items
	}
	if found == 0 {
		list = append(list, "no item of source retrieval was seen (does a step retrieve, and with source: retrieval?)")
	}
	if r.Unknown > 0 {
		list = append(list, fmt.Sprintf("%d retrieved documents are not in the corpus, for instance %q (does the configuration index more than the corpus?)", r.Unknown, r.UnknownExample))
	}
	if n := r.Set.MissingDocuments + r.Set.MissingQueries; n > 0 {
		list = append(list, fmt.Sprintf("%d judgements name documents or queries that do not exist", n))
	}
	return list
}

// skipReason returns the first reason for which a step was skipped.
func (r *Run) skipReason(step string) string {
	for i := range r.Outcomes {
		for _, s := range r.Outcomes[i].Stages {
			if s.Name == step && s.Skipped != "" {
				return s.Skipped
			}
		}
	}
	return ""
}

// Worst returns up to n queries with the worst results: by the nDCG of the window in the
// waterfall, then by the number of relevant documents that are not in the window. It leaves
// out queries with a perfect ranking.
func (r *Report) Worst(n int) []QueryReport {
	metric := r.Waterfall[1]
	list := slices.DeleteFunc(slices.Clone(r.Queries), func(q QueryReport) bool { return q.Metrics[metric] > 1-equal })
	slices.SortStableFunc(list, func(a, b QueryReport) int {
		return cmp.Or(cmp.Compare(a.Metrics[metric], b.Metrics[metric]), cmp.Compare(b.lost(), a.lost()))
	})
	return list[:min(n, len(list))]
}

// lost counts the relevant documents that are not in the window.
func (q *QueryReport) lost() (n int) {
	for i := range q.Relevant {
		if q.Relevant[i].Fate != InWindow {
			n++
		}
	}
	return n
}

// NewComparison compares two runs of the same set with the same metrics.
func NewComparison(base, other *Run, config string) *Comparison {
	c := &Comparison{Report: NewReport(other, config)}
	stages := func(r *Run) int { return len(r.Outcomes[0].Stages) }
	for i, m := range base.Metrics {
		c.Steps = append(c.Steps, Compare(m.String(), base.values(stages(base)-2, i), other.values(stages(other)-2, i)))
		c.Window = append(c.Window, Compare(m.String(), base.values(stages(base)-1, i), other.values(stages(other)-1, i)))
	}
	return c
}
