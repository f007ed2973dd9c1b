package main

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/anchor-host/anchor-host/host"
)

// The marks in a README between which the measured figures are.
const (
	beginMark = "<!-- languages:begin -->\n"
	endMark   = "<!-- languages:end -->"
)

// table returns a Markdown table with a row for each language.
func table(results []result) string {
	var b strings.Builder
	b.WriteString("| | " + strings.Join(plugins, " | | | | ") + " | | | |\n")
	b.WriteString("|---" + strings.Repeat("|--:", 4*len(plugins)) + "|\n")
	b.WriteString("| **language** " + strings.Repeat("| **size** | **build** | **JSON** | **batch** ", len(plugins)) + "|\n")
	for i := 0; i < len(results); {
		row := map[string]*result{}
		language := results[i].Language
		title := results[i].Title
		for ; i < len(results) && results[i].Language == language; i++ {
			row[results[i].Plugin] = &results[i]
		}
		fmt.Fprintf(&b, "| %s ", title)
		for _, plugin := range plugins {
			b.WriteString(row[plugin].cells())
		}
		b.WriteString("|\n")
	}
	b.WriteString("\nJSON and batch: median time of a step in that lane with 1,000 items of about 60 words, the host's part included, in µs. " +
		"Build: one plugin, with what the compiler has cached.\n")
	return b.String()
}

// cells returns the four cells of a plugin.
func (r *result) cells() string {
	if r == nil {
		return strings.Repeat("| – ", 4)
	}
	build := "–"
	if r.Build > 0 {
		build = fmt.Sprintf("%.1f s", r.Build.Seconds())
	}
	return fmt.Sprintf("| %s | %s | %s | %s ", size(r.Size), build, micros(r.Times, host.LaneJSON), micros(r.Times, host.LaneBatch))
}

func size(n int64) string {
	if n < 10_000 {
		return fmt.Sprintf("%.1f KB", float64(n)/1000)
	}
	return fmt.Sprintf("%.0f KB", float64(n)/1000)
}

func micros(times map[host.Lane]time.Duration, lane host.Lane) string {
	t, ok := times[lane]
	if !ok {
		return "–"
	}
	return fmt.Sprint(t.Microseconds())
}

// writeAll writes the table into the README, and the cost of each plugin into the page of its
// language.
func writeAll(readme string, results, others []result) error {
	texts := map[string]string{readme: table(results)}
	for _, r := range append(results, others...) {
		texts[r.page()] += r.cost()
	}
	for path, text := range texts {
		if err := writeMarked(path, text); err != nil {
			return err
		}
	}
	return nil
}

// page is the file that states the size of a plugin.
func (e example) page() string { return filepath.Join("docs", "languages", e.Language+".md") }

// tolerance is by how much of a stated size a module may differ, because compilers do.
const tolerance = 0.1

// checkSizes compares the sizes that documents state with those of the modules.
func checkSizes(results []result) error {
	var errs []error
	for i := range results {
		r := &results[i]
		page := r.page()
		text, err := os.ReadFile(page)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		stated := regexp.MustCompile("`" + r.Plugin + "` has ([0-9]+) bytes").FindSubmatch(text)
		if stated == nil {
			errs = append(errs, fmt.Errorf("%s: does not state the size of %s (WRITE=1 make test-languages writes it)", page, r.Plugin))
			continue
		}
		n, err := strconv.ParseFloat(string(stated[1]), 64)
		if err != nil || math.Abs(float64(r.Size)-n) > tolerance*n {
			errs = append(errs, fmt.Errorf("%s: %s has %d bytes, not %s (WRITE=1 make test-languages writes it)", page, r.Plugin, r.Size, stated[1]))
		}
	}
	return errors.Join(errs...)
}

// cost returns a sentence about the cost of a plugin, in Markdown.
func (r *result) cost() string {
	var lanes []string
	for _, lane := range []host.Lane{host.LaneJSON, host.LaneBatch} {
		if t, ok := r.Times[lane]; ok {
			lanes = append(lanes, fmt.Sprintf("%.1f ms in the %s lane", float64(t.Microseconds())/1000, lane))
		}
	}
	if len(lanes) == 0 {
		return fmt.Sprintf("`%s` has %d bytes.\n", r.Plugin, r.Size)
	}
	return fmt.Sprintf("`%s` has %d bytes; a step with 1,000 items takes %s.\n",
		r.Plugin, r.Size, strings.Join(lanes, " and "))
}

// writeMarked replaces the text between the marks of a file.
func writeMarked(path, text string) error {
	b, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	before, rest, ok := strings.Cut(string(b), beginMark)
	_, after, ok2 := strings.Cut(rest, endMark)
	if !ok || !ok2 {
		return fmt.Errorf("%s: has no place for the measured figures (add the lines %s and %s)", path, strings.TrimSpace(beginMark), endMark)
	}
	return os.WriteFile(path, []byte(before+beginMark+text+endMark+after), 0o600)
}
