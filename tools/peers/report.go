package main

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"runtime"
	"runtime/debug"
	"text/tabwriter"
)

// The keys of the cases.
const (
	key50        = "host_50"
	key50JSON    = "host_50_json"
	key50Looked  = "host_50_looked_up"
	key50Cold    = "host_50_cold"
	key1000      = "host_1000"
	key1000Look  = "host_1000_looked_up"
	key1000Long  = "host_1000_long"
	keyEino      = "eino"
	keyLangChain = "langchain_js"
)

// The words of a verdict.
const (
	verdictOK      = "ok"
	verdictMissed  = "missed"
	verdictSkipped = "skipped"
)

// targets are the largest times of a build of anchor-host, as multiples of Eino's in the same
// run. The target of LangChain is to take longer than anchor-host.
var targets = map[string]float64{key50: 0.8, key50JSON: 4.5, key1000: 4.5, key50Cold: 18}

// Report is the result of a run.
type Report struct {
	CPUs       int    `json:"cpus"`
	Go         string `json:"go"`
	Rounds     int    `json:"rounds"`
	LoadBefore string `json:"load_before,omitempty"`
	LoadAfter  string `json:"load_after,omitempty"`
	Rows       []Row  `json:"rows"`
}

// Row is a line of the table. Times are in microseconds.
type Row struct {
	Key     string  `json:"key"`
	What    string  `json:"what"`
	Median  float64 `json:"median_us,omitempty"`
	Least   float64 `json:"least_us,omitempty"`
	CPU     float64 `json:"cpu_us,omitempty"` // processor time
	Target  string  `json:"target,omitempty"`
	Verdict string  `json:"verdict,omitempty"`
	Note    string  `json:"note,omitempty"`
}

// machine describes the machine and the versions.
type machine struct {
	version       string // of LangChain
	rounds        int
	before, after string // load
}

// newReport judges the figures by their least times, which other work on the machine changes
// the least.
func newReport(figures map[string]figure, cases []benchCase, m machine) *Report {
	r := &Report{CPUs: runtime.NumCPU(), Go: runtime.Version(), Rounds: m.rounds, LoadBefore: m.before, LoadAfter: m.after}
	own, eino := figures[key50].least, figures[keyEino].least
	for i := range cases {
		c := &cases[i]
		f, measured := figures[c.key]
		row := Row{Key: c.key, What: what(c.key, m.version), Note: c.skipped}
		if measured {
			row.Median, row.Least, row.CPU = microseconds(f.median), microseconds(f.least), microseconds(f.cpu)
		}
		target, judged := targets[c.key]
		switch {
		case !measured:
			row.Verdict = verdictSkipped
		case c.key == keyLangChain:
			row.Target, row.Verdict = fmt.Sprintf("> %.1f µs (anchor-host)", microseconds(own)), verdict(f.least > own)
		case judged && eino > 0:
			row.Target = fmt.Sprintf("%.2f ≤ %.1f of Eino", float64(f.least)/float64(eino), target)
			row.Verdict = verdict(float64(f.least) <= target*float64(eino))
		}
		r.Rows = append(r.Rows, row)
	}
	return r
}

func verdict(met bool) string {
	if met {
		return verdictOK
	}
	return verdictMissed
}

// what returns the description of a case.
func what(key, langChain string) string {
	switch key {
	case key50:
		return "anchor-host, 50 items of 1 KB, before serialising"
	case key50JSON:
		return "anchor-host, the same, output written as JSON"
	case key50Looked:
		return "anchor-host, the same, counts looked up in the cache"
	case key50Cold:
		return "anchor-host, 50 items of 1 KB, texts never counted before"
	case key1000:
		return fmt.Sprintf("anchor-host, 1,000 items of %d bytes, before serialising", shortSize)
	case key1000Look:
		return "anchor-host, the same, counts looked up in the cache"
	case key1000Long:
		return "anchor-host, 1,000 items of 1 KB, before serialising"
	case keyEino:
		return "Eino " + moduleVersion("github.com/cloudwego/eino") + ", chain of six lambdas, 50 documents"
	}
	if langChain != "" {
		langChain += ", "
	}
	return "LangChain JS core " + langChain + "sequence of six lambdas, 50 documents"
}

// moduleVersion returns the version of a module that this program is built with.
func moduleVersion(path string) string {
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, dep := range info.Deps {
			if dep.Path == path {
				return dep.Version
			}
		}
	}
	return "(unknown version)"
}

// missed returns the number of missed targets.
func (r *Report) missed() int {
	n := 0
	for i := range r.Rows {
		if r.Rows[i].Verdict == verdictMissed {
			n++
		}
	}
	return n
}

// write writes the report as a table or as JSON.
func (r *Report) write(w io.Writer, format string) error {
	if format == "json" {
		enc := json.NewEncoder(w)
		enc.SetIndent("", "  ")
		enc.SetEscapeHTML(false)
		return enc.Encode(r)
	}
	fmt.Fprintf(w, "Six steps that do nothing; Anthropic format, counts known unless said otherwise.\n")
	fmt.Fprintf(w, "%s, %d CPUs, load %s before and %s after, median and least of %d rounds.\n\n", r.Go, r.CPUs, r.LoadBefore, r.LoadAfter, r.Rounds)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "what\tmedian\tleast\tCPU\ttarget\t")
	for i := range r.Rows {
		row := &r.Rows[i]
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\n", row.What, inMicroseconds(row.Median), inMicroseconds(row.Least), inMicroseconds(row.CPU), row.Target, row.Verdict)
	}
	return t.Flush()
}

func inMicroseconds(us float64) string {
	if us == 0 {
		return "-"
	}
	return fmt.Sprintf("%.1f µs", us)
}

// microseconds rounds to 1 decimal.
func microseconds[T ~int64](ns T) float64 { return math.Round(float64(ns)/100) / 10 }
