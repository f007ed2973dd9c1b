package pipeline

import "github.com/anchor-host/anchor-host/pipeline/internal/appendjson"

// AppendJSON appends the result document on one line. It appends what an encoder of package
// encoding/json without escapes for HTML writes, in a fraction of the time.
func (r *Result) AppendJSON(dst []byte) ([]byte, error) {
	b := appendjson.Buffer{B: dst}
	b.Begin()
	b.Key("window")
	if r.Window == nil {
		b.Other(nil)
	} else {
		b.Append(r.Window.AppendJSON)
	}
	b.Key("formatted_output")
	if text, ok := r.Output.(string); ok {
		b.PlainText(text)
	} else {
		b.PlainOther(r.Output)
	}
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
	b.Key("overflow_items")
	if r.Overflow == nil {
		b.Other(nil)
	} else {
		appendjson.List(&b, r.Overflow, func(b *appendjson.Buffer, o *OverflowItem) { b.Append(o.AppendJSON) })
	}
	b.Key("diagnostics")
	if r.Diagnostics == nil {
		b.Other(nil)
	} else {
		b.Append(r.Diagnostics.AppendJSON)
	}
	b.Key("build_time_ms")
	b.Float(r.BuildTimeMS)
	b.End()
	return b.B, b.Err
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
