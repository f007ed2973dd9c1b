package main

import (
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/anchor-host/anchor-host/host"
)

// What stands between these in the README is the table's.
const (
	beginMark = "<!-- languages:begin -->\n"
	endMark   = "<!-- languages:end -->"
)

// table is a row per language in Markdown.
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

// cells are the four of a plugin.
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

func micros(times map[string]time.Duration, lane string) string {
	t, ok := times[lane]
	if !ok {
		return "–"
	}
	return fmt.Sprint(t.Microseconds())
}

// writeTable replaces what stands between the marks of a file.
func writeTable(path string, results []result) error {
	b, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	before, rest, ok := strings.Cut(string(b), beginMark)
	_, after, ok2 := strings.Cut(rest, endMark)
	if !ok || !ok2 {
		return fmt.Errorf("%s: has no place for the table (add the lines %s and %s)", path, strings.TrimSpace(beginMark), endMark)
	}
	return os.WriteFile(path, []byte(before+beginMark+table(results)+endMark+after), 0o600)
}
