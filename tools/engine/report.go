package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"text/tabwriter"

	"github.com/anchor-host/anchor-host/host"
)

// The words of a verdict.
const (
	verdictStretch = "stretch"
	verdictPass    = "pass"
	verdictMiss    = "MISS"
	verdictError   = "ERROR"
	verdictAbsent  = "not measured"
	verdictRan     = "ran" // not judged
)

// report is the result of a run.
type report struct {
	Go         string            `json:"go"`
	CPUs       int               `json:"cpus"`
	Peers      map[string]string `json:"peers"`
	Reset      string            `json:"reset"`
	Short      bool              `json:"short"`
	LoadBefore string            `json:"load_before,omitempty"`
	LoadAfter  string            `json:"load_after,omitempty"`
	Rows       []line            `json:"rows"`
}

// line is a row with its result.
type line struct {
	Name    string  `json:"name"`
	What    string  `json:"what"`
	State   string  `json:"state"`
	Lane    string  `json:"lane"`
	Against string  `json:"against,omitempty"`
	Value   float64 `json:"value"`
	Unit    string  `json:"unit"`
	Figure  string  `json:"figure"`
	Gate    string  `json:"gate,omitempty"`
	Stretch string  `json:"stretch,omitempty"`
	Verdict string  `json:"verdict"`
	Detail  string  `json:"detail,omitempty"`
	Parts   []part  `json:"parts,omitempty"`
}

func newReport(ctx context.Context, short bool) *report {
	r := &report{Go: runtime.Version(), CPUs: runtime.GOMAXPROCS(0), Short: short, LoadBefore: loadAverage(), Peers: map[string]string{}}
	for _, path := range []string{"github.com/extism/go-sdk", "github.com/hashicorp/go-plugin", "github.com/tetratelabs/wazero"} {
		r.Peers[path] = moduleVersion(path)
	}
	if h, err := host.New(host.Config{CacheDir: host.CacheOff}); err == nil {
		r.Reset, _, _ = h.Strategy(ctx) // without it the report has no such line
		_ = h.Close(ctx)
	}
	return r
}

func (r *report) end() { r.LoadAfter = loadAverage() }

// add judges a row.
func (r *report) add(w *row, got reading, err error) line {
	l := line{
		Name: w.name, What: w.what, State: string(w.state), Lane: w.lane, Against: w.against,
		Value: got.value, Unit: strings.TrimSpace(string(w.target.unit)), Detail: got.detail, Parts: got.parts,
		Gate: w.target.word(w.target.gate), Stretch: w.target.word(w.target.stretch),
		Figure: w.target.figure(digits(got.value)),
	}
	switch {
	case errors.Is(err, errAbsent):
		l.Verdict, l.Figure, l.Detail = verdictAbsent, "-", err.Error()
	case err != nil:
		l.Verdict, l.Figure, l.Detail = verdictError, "-", err.Error()
	case r.Short || !w.target.judged():
		l.Verdict = verdictRan
	case w.target.stretch != 0 && w.target.meets(got.value, w.target.stretch):
		l.Verdict = verdictStretch
	case w.target.meets(got.value, w.target.gate):
		l.Verdict = verdictPass
	default:
		l.Verdict = verdictMiss
	}
	r.Rows = append(r.Rows, l)
	return l
}

// counts returns how many rows missed their gate or failed, and how many could not be measured.
func (r *report) counts() (failed, absent int) {
	for i := range r.Rows {
		switch r.Rows[i].Verdict {
		case verdictMiss, verdictError:
			failed++
		case verdictAbsent:
			absent++
		}
	}
	return failed, absent
}

// write prints the table, and below it the details of the figures.
func (r *report) write(w io.Writer) {
	fmt.Fprintf(w, "%s, %d CPUs, wazero %s, extism/go-sdk %s, hashicorp/go-plugin %s; load %s before and %s after.\n%s.\n",
		r.Go, r.CPUs, r.Peers["github.com/tetratelabs/wazero"], r.Peers["github.com/extism/go-sdk"],
		r.Peers["github.com/hashicorp/go-plugin"], r.LoadBefore, r.LoadAfter, r.Reset)
	if r.Short {
		fmt.Fprintln(w, "A short run: the figures are of a few calls, and none is judged.")
	}
	fmt.Fprintln(w)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "what\tstate\tlane\tagainst\tmeasured\tgate\tstretch\t")
	for i := range r.Rows {
		l := &r.Rows[i]
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", l.What, l.State, l.Lane, l.Against, l.Figure, l.Gate, l.Stretch, l.Verdict)
	}
	_ = t.Flush() // as for the other writes of a table, an error means that the reader has gone
	r.writeDetails(w)
}

func (r *report) writeDetails(w io.Writer) {
	fmt.Fprintln(w)
	for i := range r.Rows {
		l := &r.Rows[i]
		if l.Detail != "" {
			fmt.Fprintf(w, "%s: %s\n", l.Name, l.Detail)
		}
		for _, p := range l.Parts {
			fmt.Fprintf(w, "    %-34s %7s%s  %s\n", p.Name, digits(p.Value), " "+l.Unit, p.Note)
		}
	}
}

// writeJSON writes the report as JSON.
func (r *report) writeJSON(file string) error {
	data, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(file, append(data, '\n'), 0o644)
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
	return "(not built in)"
}

// loadAverage returns the load of the last minute as the system prints it, or "".
func loadAverage() string {
	data, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return ""
	}
	first, _, _ := strings.Cut(string(data), " ")
	return first
}
