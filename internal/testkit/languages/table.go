package main

import (
	"errors"
	"fmt"
	"math"
	"os"
	"regexp"
	"slices"
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

// stated returns all that the page on languages says of sizes and times.
func stated(results, others []result) string {
	text := table(results)
	var sizes []string
	for i := range others {
		sizes = append(sizes, fmt.Sprintf("`%s` (%s) %s", others[i].Plugin, others[i].Language, size(others[i].Size)))
	}
	if len(sizes) > 0 {
		text += "Further modules: " + strings.Join(sizes, ", ") + ".\n"
	}
	return text
}

// tolerance is by how much of a stated size a module may differ, because compilers do.
const tolerance = 0.1

// checkSizes compares the sizes that a page states with those of the modules.
func checkSizes(page string, results []result) error {
	text, err := os.ReadFile(page)
	if err != nil {
		return err
	}
	var errs []error
	for i := range results {
		r := &results[i]
		stated, ok := r.statedIn(string(text))
		if kb := float64(r.Size) / 1000; !ok || math.Abs(kb-stated) > tolerance*stated {
			errs = append(errs, fmt.Errorf("%s: %s in %s has %.1f KB, which the page does not say (WRITE=1 make test-languages writes it)",
				page, r.Plugin, r.Language, kb))
		}
	}
	return errors.Join(errs...)
}

// statedIn returns the kilobytes that a page states for a plugin.
func (r *result) statedIn(page string) (kb float64, ok bool) {
	pattern := regexp.QuoteMeta("`"+r.Plugin+"` ("+r.Language+") ") + "([0-9.]+) KB"
	if at := slices.Index(plugins, r.Plugin); at >= 0 {
		pattern = `(?m)^\| ` + regexp.QuoteMeta(r.Title) + ` ` + strings.Repeat(`\|[^|\n]*`, 4*at) + `\| ([0-9.]+) KB`
	}
	found := regexp.MustCompile(pattern).FindStringSubmatch(page)
	if found == nil {
		return 0, false
	}
	kb, err := strconv.ParseFloat(found[1], 64)
	return kb, err == nil
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
