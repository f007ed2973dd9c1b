package pipeline

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/anchor-host/anchor-host/pipeline/core"
	"github.com/anchor-host/anchor-host/pipeline/internal/values"
)

// Build takes a query through the pipeline. The error is always a [*BuildError]
// with the diagnostics gathered until then. The query is not changed. Results share
// metadata maps with what steps and providers returned; treat them as read-only.
func (p *Pipeline) Build(ctx context.Context, q Query) (*Result, error) {
	b := p.newBuild(&q)
	defer b.release()
	ctx = context.WithValue(ctx, buildInfoKey{}, p.info)
	for _, stage := range stages {
		err := ctx.Err()
		if err == nil {
			err = stage.run(b, ctx)
		}
		if err != nil {
			return nil, b.fail(stage.name, err)
		}
	}
	return b.finish(ctx), nil
}

// stages lists the stages of a build in order. The build checks its context before each.
var stages = [...]struct {
	name string
	run  func(*build, context.Context) error
}{
	{"query", (*build).start},
	{"system", (*build).addSystem},
	{"memory", (*build).addMemory},
	{"enrich", (*build).enrich},
	{"step", (*build).runSteps},
	{"count", (*build).count},
	{"fill", (*build).fillWindow},
	{"format", (*build).format},
}

// start: query -> checked query. It calls the callbacks for the start of a build.
func (b *build) start(ctx context.Context) error {
	b.diag.Warnings = append(b.diag.Warnings, b.p.warnings...)
	if err := b.query.Validate(); err != nil {
		return err
	}
	b.p.onPipelineStart(ctx, b.query)
	return nil
}

// addSystem: -> items of the system prompts, counted.
func (b *build) addSystem(ctx context.Context) error {
	system, err := b.p.countedSystem(ctx)
	b.list.items = system
	b.recordOffer("system", nil, true)
	b.at = b.p.now()
	return err
}

// addMemory: items -> these items and those of the memory provider.
func (b *build) addMemory(ctx context.Context) error {
	if b.p.memory == nil {
		return nil
	}
	defer b.lap(&b.diag.TimesMS.Memory)
	items, err := b.remember(ctx)
	if err != nil {
		err = b.settlePart(ctx, MemoryPart, b.p.onError.memory, err)
		if err != nil || len(items) == 0 {
			return err
		}
	}
	b.diag.MemoryItems = pointer(len(items))
	for i := range items {
		if m := items[i].Metadata; m["summary"] == true && m["listed"] == true {
			b.diag.Warnings = append(b.diag.Warnings, "the summary of the conversation ends with turns as they were: its compactor failed")
		}
	}
	own := len(b.list.items) > 0
	b.list.items = appendItems(b.list.items, items)
	b.recordOffer("memory", b.p.memory, own)
	return nil
}

// enrich: query, memory and conversation items -> query with a new text.
func (b *build) enrich(ctx context.Context) error {
	if b.p.enricher == nil {
		return nil
	}
	memories := b.memories()
	if len(memories) == 0 {
		return nil
	}
	defer b.lap(&b.diag.TimesMS.Enrich)
	var text string
	err := core.Guard(func() (err error) {
		text, err = b.p.enricher.Enrich(ctx, b.query.Text, memories)
		return err
	})
	if err != nil {
		return b.settlePart(ctx, EnricherPart, b.p.onError.enricher, err)
	}
	b.query.Text, b.diag.QueryEnriched = text, true
	return nil
}

// runSteps: query, items -> items, step by step or group by group. It treats native steps
// and plugins alike.
func (b *build) runSteps(ctx context.Context) error {
	defer func(began time.Time) { b.diag.TimesMS.Steps = values.Milliseconds(b.mark().Sub(began)) }(b.at)
	b.diag.Steps = make([]StepDiagnostic, 0, len(b.p.steps))
	runs := make([]stepRun, len(b.p.steps))
	for rest := b.p.steps; len(rest) > 0; {
		n := rest[0].group
		group, own := rest[:n], runs[:n]
		rest, runs = rest[n:], runs[n:]
		if err := b.runGroup(ctx, group, rest, own); err != nil {
			return err
		}
	}
	return nil
}

// count: items -> the tokens of each. It believes the counts that items bring, and counts
// all others in one call.
func (b *build) count(ctx context.Context) error {
	defer b.lap(&b.diag.TimesMS.Count)
	b.counts = b.scratch.countsFor(len(b.list.items))
	missing := 0
	for i := range b.list.items {
		it := &b.list.items[i]
		if err := it.Validate(); err != nil {
			return fmt.Errorf("items[%d]: %w", i, err)
		}
		b.counts[i] = it.TokenCount
		if it.TokenCount == 0 && it.Content != "" {
			missing++
		}
	}
	if missing == 0 {
		return nil
	}
	return b.countMissing(ctx, missing)
}

// fillWindow: items, counts, budget -> window and overflow. After an item that does not fit,
// filling continues with the next one.
func (b *build) fillWindow(ctx context.Context) error {
	defer b.lap(&b.diag.TimesMS.Fill)
	w := b.filling
	w.Items, w.Counts, w.Began, w.Window = b.list.items, b.counts, b.began, &b.docs.window
	b.recordFill()
	err := b.p.filler.Fill(ctx, w, b.scratch.indicesFor(len(b.list.items)))
	b.diag.Fill, b.diag.BudgetOverflowBySource = w.Diagnostic, w.OverBudget
	if err == nil {
		b.describeWindow()
	}
	return err
}

// format: window -> output. It keeps the output that an exact fill has made already.
func (b *build) format(ctx context.Context) (err error) {
	defer b.lap(&b.diag.TimesMS.Format)
	if w := b.filling; w.Counting == nil {
		w.Output, w.OutputType, err = core.FormatWindow(ctx, b.p.formatter, w.Window)
	}
	return err
}

// finish: everything -> result. It calls the callbacks for the end of a build.
func (b *build) finish(ctx context.Context) *Result {
	b.diag.Items = b.trace()
	r, w := &b.docs.result, b.filling
	*r = Result{
		Window:      w.Window,
		Output:      w.Output,
		FormatType:  cmp.Or(w.OutputType, b.p.formatter.FormatType()),
		Counted:     w.Counted,
		Counting:    w.Counting,
		Overflow:    w.Overflow,
		Diagnostics: b.diag,
		BuildTimeMS: values.Milliseconds(b.at.Sub(b.began)),
	}
	b.p.onPipelineEnd(ctx, r)
	return r
}

// fail: the error of a stage -> the error of the build.
func (b *build) fail(stage string, err error) error {
	b.diag.Items = b.trace()
	e := &BuildError{Stage: stage, Err: err, Diagnostics: b.diag}
	var failed *stepError
	if errors.As(err, &failed) {
		e.Step, e.Err = failed.step, failed.err
	}
	return e
}
