package main

import (
	"fmt"
	"os"
	"path/filepath"
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

// writeAll writes the table into the README, and the cost of each plugin into its own README.
func writeAll(readme string, results []result) error {
	texts := map[string]string{readme: table(results)}
	for i := range results {
		r := &results[i]
		path := filepath.Join(r.Dir, "README.md")
		if r.Language == "tinygo" { // TinyGo has no README of its own, because it shares the source of Go
			path = filepath.Join(root, r.Language, "README.md")
		}
		texts[path] += r.cost()
	}
	for path, text := range texts {
		if err := writeMarked(path, text); err != nil {
			return err
		}
	}
	return nil
}

// cost returns a sentence about the cost of a plugin, in Markdown.
func (r *result) cost() string {
	var lanes []string
	for _, lane := range []host.Lane{host.LaneJSON, host.LaneBatch} {
		if t, ok := r.Times[lane]; ok {
			lanes = append(lanes, fmt.Sprintf("%.1f ms in the %s lane", float64(t.Microseconds())/1000, lane))
		}
	}
	return fmt.Sprintf("Measured: `%s` has %d bytes; a step with 1,000 items of about 60 words takes %s, the host's part included.\n",
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
