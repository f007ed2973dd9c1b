package pipeline

import (
	"context"
	"maps"
	"slices"

	"github.com/anchor-host/anchor-host/pipeline/core"
	"github.com/anchor-host/anchor-host/pipeline/explain"
	"github.com/anchor-host/anchor-host/pipeline/fill"
	"github.com/anchor-host/anchor-host/pipeline/promptcache"
	"github.com/anchor-host/anchor-host/usage"
)

// Result is the outcome of a build. Its JSON form is the result document.
type Result struct {
	Window *Window `json:"window"`
	// Output is the formatted window: a string or a JSON document.
	Output     any    `json:"formatted_output"`
	FormatType string `json:"format_type"`
	// Counted is the number of tokens of Output, and Counting says how they were counted.
	// Both are set with FitExact only. Counted never exceeds the size of the window.
	Counted  int            `json:"counted_tokens,omitempty"`
	Counting *fill.Counting `json:"counting,omitempty"`
	// Partial says that optional steps were left out, or ended, because of the deadline of the
	// build; see [Config]. Diagnostics.StepFailures names them.
	Partial bool `json:"partial,omitempty"`
	// Degraded lists what the window lacks although the build succeeded: skipped steps, results that
	// were cut, parts of turns that were left out, missing collections, services without an answer.
	Degraded []core.Degradation `json:"degraded,omitempty"`
	// Overflow lists the items that are not in the window: first those that the budget
	// excluded, then those that did not fit. It is never nil.
	Overflow    []OverflowItem `json:"overflow_items"`
	Diagnostics *Diagnostics   `json:"diagnostics"`
	// BuildTimeMS is the wall time of the build in milliseconds, rounded to 2
	// decimals.
	BuildTimeMS float64 `json:"build_time_ms"`
}

// TrackPrefix compares the output with that of the previous build of the same conversation,
// which t remembers, and writes the report into the diagnostics. The first build of a
// conversation has no report.
func (r *Result) TrackPrefix(ctx context.Context, t *promptcache.Tracker, conversation string) (*promptcache.Report, error) {
	prompt, err := promptcache.NewSnapshot(r.Output, r.Window.Items)
	if err != nil {
		return nil, err
	}
	report, err := t.Observe(ctx, conversation, prompt, r.Diagnostics.Items)
	if report != nil {
		r.Diagnostics.Cache = report
	}
	return report, err
}

// StepDiagnostic describes one step that succeeded.
type StepDiagnostic struct {
	Name       string `json:"name"`
	ItemsAfter int    `json:"items_after"`
	// TimeMS is the wall time in milliseconds, rounded to 2 decimals.
	TimeMS float64 `json:"time_ms"`
	// StartMS is when the step began, in milliseconds from the start of the build. It is 0 unless
	// Config.Explain is set.
	StartMS float64 `json:"start_ms,omitempty"`
	// WaitMS is how long calls of its plugin waited for an instance or a processor, and GuestMS how
	// long they ran, with what the plugin asked the host for. The rest of TimeMS is work of the host.
	// Calls at the same time add up. Both are in milliseconds, and 0 unless Config.Explain is set.
	WaitMS  float64 `json:"wait_ms,omitempty"`
	GuestMS float64 `json:"guest_ms,omitempty"`
	// Plugin names the plugin that the step runs; several names are joined by "+".
	Plugin string `json:"plugin,omitempty"`
	// Fuel is the fuel that plugins used while the step ran, see [AddFuel]. It is the same
	// on every machine, unless a plugin reads the clock or random numbers. Programs in Go
	// do so at their start, to seed their maps.
	Fuel int64 `json:"fuel,omitempty"`
}

// StepFailure describes one step that was skipped or that failed the build.
type StepFailure struct {
	Step    string `json:"step"`
	Plugin  string `json:"plugin,omitempty"`
	Reason  string `json:"reason,omitempty"`
	Message string `json:"message"`
	// TimeMS, StartMS, WaitMS and GuestMS are as in [StepDiagnostic]. They are 0 for a part that is
	// not a step, and unless Config.Explain is set.
	TimeMS  float64 `json:"time_ms,omitempty"`
	StartMS float64 `json:"start_ms,omitempty"`
	WaitMS  float64 `json:"wait_ms,omitempty"`
	GuestMS float64 `json:"guest_ms,omitempty"`
	// Fuel is the fuel that plugins used until the step failed, see [AddFuel].
	Fuel int64 `json:"fuel,omitempty"`
}

// Diagnostics describes one build, or the part of it that ran before a failure.
type Diagnostics struct {
	// Steps lists the steps that succeeded, in order.
	Steps []StepDiagnostic `json:"steps"`
	// MemoryItems is the number of items from the memory provider, nil without one.
	MemoryItems *int `json:"memory_items,omitempty"`
	// TotalItemsConsidered is the number of items that reached the window stage.
	// ItemsIncluded of them are in the window, and ItemsOverflow are not.
	TotalItemsConsidered int `json:"total_items_considered"`
	ItemsIncluded        int `json:"items_included"`
	ItemsOverflow        int `json:"items_overflow"`
	// TokenUtilization is the share of the window that is used, rounded to 4 decimals.
	TokenUtilization float64 `json:"token_utilization"`
	// TokenUsageBySource and SharedPoolUsage (the window tokens of the sources
	// without an allocation) are nil without a budget.
	TokenUsageBySource map[Source]int `json:"token_usage_by_source,omitzero"`
	SharedPoolUsage    *int           `json:"shared_pool_usage,omitempty"`
	// BudgetOverflowBySource is the number of items of each source that the budget excluded.
	BudgetOverflowBySource map[Source]int `json:"budget_overflow_by_source,omitempty"`
	// QueryEnriched is true when the enricher ran, even if it changed nothing.
	QueryEnriched bool `json:"query_enriched,omitempty"`
	// SkippedSteps names the steps that failed under Skip, and FailedStep the step that
	// failed the build. StepFailures gives the reasons, in the same order.
	SkippedSteps []string      `json:"skipped_steps,omitempty"`
	FailedStep   string        `json:"failed_step,omitempty"`
	StepFailures []StepFailure `json:"step_failures,omitempty"`
	// Fill says how good the selection for the window is. It is nil when the defaults
	// made it: first fit by the token counts of the items.
	Fill *fill.Diagnostic `json:"fill,omitempty"`
	// Warnings are sentences about settings without effect.
	Warnings []string `json:"warnings,omitempty"`
	// Lost has one line for each part of a turn that the window leaves out: calls and results
	// without the other, and what the format has no place for.
	Lost []string `json:"lost,omitempty"`
	// Items says what happened to each item. It is nil unless Config.Explain is set.
	Items *explain.Trace `json:"items,omitempty"`
	// Cache compares the output with that of the previous build. It is nil unless
	// [Result.TrackPrefix] was called.
	Cache *promptcache.Report `json:"cache,omitempty"`
	// Services are what models, embedders and collections were asked for, by service, name and
	// plugin, which is empty for what the host itself asked. It is nil if there is nothing.
	Services []usage.Line `json:"services,omitempty"`
	// CostUSD is what Services cost in US dollars. It is 0 unless all prices are known.
	CostUSD float64 `json:"cost_usd,omitempty"`
	// TimesMS is the time that each stage took.
	TimesMS StageTimes `json:"times_ms"`
}

// clone returns a copy that shares nothing with d.
func (d *Diagnostics) clone() *Diagnostics {
	out := *d
	out.Steps = slices.Clone(d.Steps)
	out.MemoryItems = clonePointer(d.MemoryItems)
	out.SharedPoolUsage = clonePointer(d.SharedPoolUsage)
	out.TokenUsageBySource = maps.Clone(d.TokenUsageBySource)
	out.BudgetOverflowBySource = maps.Clone(d.BudgetOverflowBySource)
	out.SkippedSteps = slices.Clone(d.SkippedSteps)
	out.StepFailures = slices.Clone(d.StepFailures)
	out.Services = slices.Clone(d.Services)
	out.Warnings, out.Lost = slices.Clone(d.Warnings), slices.Clone(d.Lost)
	if d.Fill != nil {
		fill := *d.Fill
		fill.Truncated = slices.Clone(fill.Truncated)
		out.Fill = &fill
	}
	return &out
}

func clonePointer(p *int) *int {
	if p == nil {
		return nil
	}
	n := *p
	return &n
}

// StageTimes is the wall time of each stage of a build in milliseconds.
type StageTimes struct {
	Memory float64 `json:"memory"`
	Enrich float64 `json:"enrich"`
	Steps  float64 `json:"steps"`
	Count  float64 `json:"count"`
	Fill   float64 `json:"fill"`
	Format float64 `json:"format"`
}

// clone copies everything except the output, whose type only the formatter knows.
func (r *Result) clone() *Result {
	out := *r
	window := *r.Window
	window.Items = core.CloneItems(window.Items)
	out.Window = &window
	out.Degraded = slices.Clone(r.Degraded)
	out.Overflow = slices.Clone(r.Overflow)
	for i := range out.Overflow {
		out.Overflow[i].Item = out.Overflow[i].Clone()
	}
	out.Diagnostics = r.Diagnostics.clone()
	return &out
}
