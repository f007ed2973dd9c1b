package pipeline

import (
	"slices"

	"github.com/anchor-host/anchor-host/pipeline/internal/appendjson"
)

// AppendJSON appends the result document on one line. It appends what an encoder of package
// encoding/json without escapes for HTML writes, in a fraction of the time.
func (r *Result) AppendJSON(dst []byte) ([]byte, error) { return r.AppendWithout(dst) }

// AppendWithout is like [Result.AppendJSON], without the members that omit names: window,
// formatted_output, overflow_items, diagnostics. The texts of a window are in its items and in its output.
func (r *Result) AppendWithout(dst []byte, omit ...string) ([]byte, error) {
	b := appendjson.Buffer{B: dst}
	b.Begin()
	for _, m := range []struct {
		name  string
		write func(*appendjson.Buffer)
	}{{"window", r.writeWindow}, {"formatted_output", r.writeOutput}} {
		if !slices.Contains(omit, m.name) {
			b.Key(m.name)
			m.write(&b)
		}
	}
	r.writeForm(&b)
	for _, m := range []struct {
		name  string
		write func(*appendjson.Buffer)
	}{{"overflow_items", r.writeOverflow}, {"diagnostics", r.writeDiagnostics}} {
		if !slices.Contains(omit, m.name) {
			b.Key(m.name)
			m.write(&b)
		}
	}
	b.Key("build_time_ms")
	b.Float(r.BuildTimeMS)
	b.End()
	return b.B, b.Err
}

func (r *Result) writeWindow(b *appendjson.Buffer) {
	if r.Window == nil {
		b.Other(nil)
	} else {
		b.Append(r.Window.AppendJSON)
	}
}

func (r *Result) writeOutput(b *appendjson.Buffer) {
	if text, ok := r.Output.(string); ok {
		b.PlainText(text)
	} else {
		b.PlainOther(r.Output)
	}
}

// writeForm writes what is said of the output.
func (r *Result) writeForm(b *appendjson.Buffer) {
	b.Key("format_type")
	b.PlainText(r.FormatType)
	b.SomeInt("counted_tokens", int64(r.Counted))
	if r.Counting != nil {
		b.Key("counting")
		b.PlainOther(r.Counting)
	}
	if r.Partial {
		b.Key("partial")
		b.Bool(true)
	}
	if len(r.Degraded) > 0 {
		b.Key("degraded")
		b.PlainOther(r.Degraded)
	}
}

func (r *Result) writeOverflow(b *appendjson.Buffer) {
	if r.Overflow == nil {
		b.Other(nil)
	} else {
		appendjson.List(b, r.Overflow, func(b *appendjson.Buffer, o *OverflowItem) { b.Append(o.AppendJSON) })
	}
}

func (r *Result) writeDiagnostics(b *appendjson.Buffer) {
	if r.Diagnostics == nil {
		b.Other(nil)
	} else {
		b.Append(r.Diagnostics.AppendJSON)
	}
}

// AppendJSON appends the diagnostics on one line, as [Result.AppendJSON] does.
func (d *Diagnostics) AppendJSON(dst []byte) ([]byte, error) {
	b := appendjson.Buffer{B: dst}
	b.Begin()
	b.Key("steps")
	b.PlainOther(d.Steps)
	if d.MemoryItems != nil {
		b.Key("memory_items")
		b.Int(int64(*d.MemoryItems))
	}
	b.Key("total_items_considered")
	b.Int(int64(d.TotalItemsConsidered))
	b.Key("items_included")
	b.Int(int64(d.ItemsIncluded))
	b.Key("items_overflow")
	b.Int(int64(d.ItemsOverflow))
	b.Key("token_utilization")
	b.Float(d.TokenUtilization)
	d.writeOptional(&b)
	b.Key("times_ms")
	b.PlainOther(&d.TimesMS)
	b.End()
	return b.B, b.Err
}

// writeOptional writes the members that most builds do not have.
func (d *Diagnostics) writeOptional(b *appendjson.Buffer) {
	some := func(has bool, name string, value any) {
		if has {
			b.Key(name)
			b.PlainOther(value)
		}
	}
	some(d.TokenUsageBySource != nil, "token_usage_by_source", d.TokenUsageBySource)
	some(d.SharedPoolUsage != nil, "shared_pool_usage", d.SharedPoolUsage)
	some(len(d.BudgetOverflowBySource) > 0, "budget_overflow_by_source", d.BudgetOverflowBySource)
	some(d.QueryEnriched, "query_enriched", true)
	some(len(d.SkippedSteps) > 0, "skipped_steps", d.SkippedSteps)
	some(d.FailedStep != "", "failed_step", d.FailedStep)
	some(len(d.StepFailures) > 0, "step_failures", d.StepFailures)
	some(d.Fill != nil, "fill", d.Fill)
	some(len(d.Warnings) > 0, "warnings", d.Warnings)
	some(len(d.Lost) > 0, "lost", d.Lost)
	if d.Items != nil {
		b.Key("items")
		b.Append(d.Items.AppendJSON)
	}
	some(d.Cache != nil, "cache", d.Cache)
	some(len(d.Services) > 0, "services", d.Services)
	some(d.CostUSD != 0, "cost_usd", d.CostUSD)
}
