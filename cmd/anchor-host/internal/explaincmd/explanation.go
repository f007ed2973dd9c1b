package explaincmd

import (
	"bytes"
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/anchor-host/anchor-host/anchor"
	"github.com/anchor-host/anchor-host/cmd/anchor-host/internal/cli"
	"github.com/anchor-host/anchor-host/internal/builtdoc"
	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/pipeline/explain"
	"github.com/anchor-host/anchor-host/pipeline/fill"
)

// Explanation says why each item is in the window or not.
type Explanation struct {
	// Items are all items, those of the window first.
	Items []builtdoc.Verdict `json:"items"`
	// Steps are the steps that ran, in their order, then those that were skipped.
	Steps []stepLine `json:"steps"`
	// Times are the times of the stages.
	Times []stageTime `json:"times"`
	diag  *pipeline.Diagnostics
	// counting says how the output was counted. nil: only its items were.
	counting *fill.Counting
}

type stepLine struct {
	Name       string  `json:"name"`
	ItemsAfter int     `json:"items_after"`
	TimeMS     float64 `json:"time_ms"`
	Plugin     string  `json:"plugin,omitempty"`
	Fuel       int64   `json:"fuel,omitempty"`
	Skipped    string  `json:"skipped,omitempty"`
}

// row returns the cells of a step.
func (s *stepLine) row() []string {
	plugin := cmp.Or(s.Plugin, "-")
	if s.Skipped != "" {
		return []string{s.Name, "-", "-", plugin, cli.Fuel(s.Fuel), "skipped: " + s.Skipped}
	}
	return []string{s.Name, strconv.Itoa(s.ItemsAfter), cli.Millis(s.TimeMS), plugin, cli.Fuel(s.Fuel), "ok"}
}

type stageTime struct {
	Stage  string  `json:"stage"`
	TimeMS float64 `json:"time_ms"`
}

// NewExplanation explains a build that has traces. The items are sorted by outcome: first the
// window, then items that were left out, then items that steps dropped, in the order of the
// steps. plugins are the plugins that were loaded for the build, which took loadTime.
func NewExplanation(result *pipeline.Result, plugins []anchor.Plugin, loadTime time.Duration) *Explanation {
	e := &Explanation{diag: result.Diagnostics, counting: result.Counting}
	e.Items = builtdoc.Verdicts(result.Diagnostics.Items.All(), result.Diagnostics.Steps)
	for _, s := range result.Diagnostics.Steps {
		e.Steps = append(e.Steps, stepLine{Name: s.Name, ItemsAfter: s.ItemsAfter, TimeMS: s.TimeMS, Plugin: s.Plugin, Fuel: s.Fuel})
	}
	for _, f := range result.Diagnostics.StepFailures {
		e.Steps = append(e.Steps, stepLine{Name: f.Step, Plugin: f.Plugin, Fuel: f.Fuel, Skipped: f.Message})
	}
	e.Times = times(result, plugins, loadTime)
	return e
}

// times returns the times of the stages.
func times(result *pipeline.Result, plugins []anchor.Plugin, loadTime time.Duration) []stageTime {
	millis := func(d time.Duration) float64 { return float64(d.Microseconds()) / 1e3 }
	list := []stageTime{{"load plugins", millis(loadTime)}}
	for _, l := range plugins {
		list = append(list, stageTime{"- " + l.Name, millis(l.LoadTime)})
	}
	t := result.Diagnostics.TimesMS
	rest := result.BuildTimeMS - t.Memory - t.Enrich - t.Steps - t.Count - t.Fill - t.Format
	return append(list,
		stageTime{"build", result.BuildTimeMS},
		stageTime{"- system prompts and the rest", max(0, rest)},
		stageTime{"- memory", t.Memory},
		stageTime{"- enrich", t.Enrich},
		stageTime{"- steps", t.Steps},
		stageTime{"- count tokens", t.Count},
		stageTime{"- fill window", t.Fill},
		stageTime{"- format", t.Format},
	)
}

// Write writes the explanation as tables, each under a heading. The text may contain control
// characters.
func (e *Explanation) Write(b *bytes.Buffer) {
	b.WriteString("\n-- items --\n")
	rows := make([][]string, len(e.Items))
	for i, v := range e.Items {
		mark, why := "out", v.Why
		if v.In {
			mark = "in"
		}
		if v.Lacked > 0 {
			why += fmt.Sprintf(", %d tokens short", v.Lacked)
		}
		if len(v.DisplacedBy) > 0 {
			why += ", displaced by " + cli.OneCell(strings.Join(v.DisplacedBy, ", "))
		}
		rows[i] = []string{
			mark, cli.OneCell(v.ID), string(v.Source), strconv.Itoa(v.Priority), fmt.Sprintf("%.3f", v.Score),
			strconv.Itoa(v.Tokens), v.BroughtBy, why, v.Excerpt,
		}
	}
	cli.Table(b, []string{"WINDOW", "ITEM", "SOURCE", "PRIORITY", "SCORE", "TOKENS", "FROM", "WHY", "TEXT"}, rows)
	if rows = changeRows(e.diag.Items.All()); len(rows) > 0 {
		b.WriteString("\n-- changes by steps --\n")
		cli.Table(b, []string{"ITEM", "CHANGE"}, rows)
	}
	b.WriteString("\n-- steps --\n")
	rows = rows[:0]
	for i := range e.Steps {
		rows = append(rows, e.Steps[i].row())
	}
	cli.Table(b, []string{"STEP", "ITEMS AFTER", "TIME", "PLUGIN", "FUEL", "OUTCOME"}, rows)
	b.WriteString("\n-- diagnostics --\n")
	cli.Table(b, nil, append(diagnosticRows(e.diag), countingRows(e.counting)...))
	b.WriteString("\n-- where the time went --\n")
	rows = rows[:0]
	for _, t := range e.Times {
		rows = append(rows, []string{t.Stage, cli.Millis(t.TimeMS)})
	}
	cli.Table(b, []string{"STAGE", "TIME"}, rows)
}

// changeRows lists the changes that steps made to items that they neither added nor dropped.
func changeRows(traces []explain.ItemTrace) (rows [][]string) {
	const ends = explain.Added | explain.Dropped | explain.Admitted | explain.LeftOut
	for i := range traces {
		for j := range traces[i].Events {
			if e := &traces[i].Events[j]; e.Actions&ends == 0 {
				rows = append(rows, []string{cli.OneCell(traces[i].ID), builtdoc.Sentence(e)})
			}
		}
	}
	return rows
}

// countingRows say how the output was counted.
func countingRows(c *fill.Counting) [][]string {
	if c == nil {
		return nil
	}
	rows := [][]string{{"counted with", c.Tokenizer}}
	if c.Source != "" {
		rows = append(rows, []string{"source of the estimate", c.Source})
	}
	if c.ToolSource != "" {
		rows = append(rows, []string{"tokens of tools", fmt.Sprintf("%d–%d (%s)", c.LowToolTokens, c.ToolTokens, c.ToolSource)})
	}
	if c.MediaSource != "" {
		rows = append(rows, []string{"tokens of media", fmt.Sprintf("%d–%d (%s)", c.LowMediaTokens, c.MediaTokens, c.MediaSource)})
	}
	if !c.Exact {
		rows = append(rows, []string{"tokens of the output", fmt.Sprintf("%d–%d", c.Low, c.High)})
	}
	return rows
}

// diagnosticRows lists the figures of a build.
func diagnosticRows(d *pipeline.Diagnostics) [][]string {
	rows := [][]string{
		{"items considered", strconv.Itoa(d.TotalItemsConsidered)},
		{"items in the window", strconv.Itoa(d.ItemsIncluded)},
		{"items left out", strconv.Itoa(d.ItemsOverflow)},
		{"window used", fmt.Sprintf("%.2f %%", 100*d.TokenUtilization)},
	}
	if d.MemoryItems != nil {
		rows = append(rows, []string{"memory items", strconv.Itoa(*d.MemoryItems)})
	}
	for _, s := range pipeline.Sources {
		if n, ok := d.TokenUsageBySource[s]; ok {
			rows = append(rows, []string{"tokens of " + string(s), strconv.Itoa(n)})
		}
	}
	if d.SharedPoolUsage != nil {
		rows = append(rows, []string{"tokens of the shared pool", strconv.Itoa(*d.SharedPoolUsage)})
	}
	for _, s := range pipeline.Sources {
		if n, ok := d.BudgetOverflowBySource[s]; ok {
			rows = append(rows, []string{"over the budget of " + string(s), strconv.Itoa(n)})
		}
	}
	if d.QueryEnriched {
		rows = append(rows, []string{"query enriched", "yes"})
	}
	for _, l := range d.Services {
		rows = append(rows, []string{strings.TrimSpace("asked " + l.Service + " " + cli.OneCell(l.Name)), cli.Usage(l)})
	}
	for _, w := range d.Warnings {
		rows = append(rows, []string{"warning", w})
	}
	for _, line := range d.Lost {
		rows = append(rows, []string{"left out", line})
	}
	return rows
}
