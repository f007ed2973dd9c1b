package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"text/tabwriter"
)

// report is what the command prints.
type report struct {
	Short   bool      `json:"short,omitempty"`
	Sets    []result  `json:"sets"`
	Targets []verdict `json:"targets"`
}

// result has the rows of one set.
type result struct {
	Set  string `json:"set"`
	Rows []row  `json:"rows"`
}

// row has the medians of one engine.
type row struct {
	Engine string `json:"engine"`
	figures
}

// measureSet runs all engines several times, one after the other.
func measureSet(ctx context.Context, f *flags, set string, stderr io.Writer) (*result, error) {
	r := &result{Set: set}
	var jobs []*job
	for _, e := range engines {
		if set == setFiles && (!e.ours || e.name == oursVector) {
			continue
		}
		jobs = append(jobs, &job{Set: set, Engine: e.name, Data: f.data, Table: f.table, Vectors: e.vectors, Short: f.short})
	}
	all := make([][]figures, len(jobs))
	for n := range f.runs {
		for i, j := range jobs {
			fmt.Fprintf(stderr, "%s: run %d of %d: %s\n", set, n+1, f.runs, j.Engine)
			one, err := process(ctx, j, stderr)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", j.Engine, err)
			}
			fmt.Fprintf(stderr, "    nDCG@10 %.4f, ingestion %.1f MB/cpu-s, query %.2f ms\n", one.NDCG, one.Ingest, one.P50)
			all[i] = append(all[i], *one)
		}
	}
	for i, j := range jobs {
		r.Rows = append(r.Rows, row{j.Engine, medians(all[i])})
	}
	return r, nil
}

// process runs one job in a process of its own.
func process(ctx context.Context, j *job, stderr io.Writer) (*figures, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(j)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	c := exec.CommandContext(ctx, self, "-job", string(text))
	c.Env = append(os.Environ(), "GOMAXPROCS=1")
	c.Stdout, c.Stderr = &out, stderr
	if err := c.Run(); err != nil {
		return nil, err
	}
	f := &figures{}
	return f, json.Unmarshal(out.Bytes(), f)
}

// medians takes the median of each figure.
func medians(all []figures) figures {
	out := all[0]
	out.Ingest = median(all, func(f *figures) float64 { return f.Ingest })
	out.IngestWall = median(all, func(f *figures) float64 { return f.IngestWall })
	out.P50 = median(all, func(f *figures) float64 { return f.P50 })
	out.P99 = median(all, func(f *figures) float64 { return f.P99 })
	out.CPU = median(all, func(f *figures) float64 { return f.CPU })
	out.Disk = median(all, func(f *figures) int64 { return f.Disk })
	out.Peak = median(all, func(f *figures) int64 { return f.Peak })
	return out
}

func median[T cmp.Ordered](all []figures, of func(*figures) T) T {
	var list []T
	for i := range all {
		list = append(list, of(&all[i]))
	}
	slices.Sort(list)
	return list[len(list)/2]
}

// row returns the row of an engine, or nil.
func (r *result) row(engine string) *row {
	for i := range r.Rows {
		if r.Rows[i].Engine == engine {
			return &r.Rows[i]
		}
	}
	return nil
}

// write prints the tables.
func (r *report) write(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	if r.Short {
		fmt.Fprintln(w, "A short run: it shows that everything works. Its figures mean nothing.")
	}
	for i := range r.Sets {
		s := &r.Sets[i]
		first := &s.Rows[0]
		fmt.Fprintf(w, "\n%s: %d documents, %.1f MB, %d queries\n", s.Set, first.Documents, float64(first.Bytes)/1e6, first.Questions)
		fmt.Fprintln(t, "nDCG@10\tR@100\tingest MB/cpu-s\tMB/s\tquery p50 ms\tp99\tcpu\tdisk MB\tpeak MB\t engine\t")
		for _, row := range s.Rows {
			fmt.Fprintf(t, "%s\t%s\t%.1f\t%.1f\t%s\t%s\t%s\t%.1f\t%.0f\t %s\t\n", number(row.NDCG, 4), number(row.Recall, 4), row.Ingest, row.IngestWall,
				number(row.P50, 2), number(row.P99, 2), number(row.CPU, 2), float64(row.Disk)/1e6, float64(row.Peak)/1e6, row.Engine)
		}
		if err := t.Flush(); err != nil {
			return err
		}
	}
	fmt.Fprintln(w)
	for _, v := range r.Targets {
		fmt.Fprintln(w, v)
	}
	return nil
}

func number(f float64, digits int) string {
	if f == 0 {
		return "-"
	}
	return fmt.Sprintf("%.*f", digits, f)
}
