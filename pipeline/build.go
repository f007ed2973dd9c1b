package pipeline

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/anchor-host/anchor-host/internal/ledger"
	"github.com/anchor-host/anchor-host/internal/observe"
	"github.com/anchor-host/anchor-host/pipeline/core"
	"github.com/anchor-host/anchor-host/pipeline/internal/values"
)

// Build takes a query through the pipeline. The error is always a [*BuildError]
// with the diagnostics gathered until then. The query is not changed. Results share
// metadata maps with what steps and providers returned; treat them as read-only.
func (p *Pipeline) Build(ctx context.Context, q Query) (*Result, error) {
	b := p.newBuild(&q)
	defer b.release()
	ctx, used := ledger.Under(context.WithValue(ctx, buildInfoKey{}, p.info))
	ctx = withVectors(ctx, p.embedder)
	for _, stage := range stages {
		err := ctx.Err()
		if err == nil {
			ctx, span := observe.Begin(ctx, observe.Work{Kind: observe.Stage, Name: stage.name})
			err = stage.run(b, ctx)
			span.End(observe.Result{Err: err, Reason: ReasonOf(err), Items: len(b.list.items)})
		}
		if err != nil {
			b.settleServices(used)
			return nil, b.fail(stage.name, err)
		}
	}
	b.settleServices(used)
	return b.finish(ctx), nil
}

// settleServices enters what the build asked for, and what that costs.
func (b *build) settleServices(used *ledger.Ledger) {
	b.diag.Services = used.Lines()
	b.diag.CostUSD = ledger.Cost(b.diag.Services)
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
	if b.p.question && strings.TrimSpace(b.query.Text) != "" {
		b.fixed.Query = b.query.Text
	}
	b.p.onPipelineStart(ctx, b.query)
	return nil
}

// addSystem: -> items of the system prompts, counted.
func (b *build) addSystem(ctx context.Context) error {
	system, tools, err := b.p.countedSystem(ctx)
	for i := range system {
		system[i].CreatedAt = b.began
	}
	b.list.items = system
	b.fixed.Tools, b.fixed.ToolTokens = b.p.tools, tools
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
		err = b.settlePart(ctx, MemoryPart, b.p.parts.memory.onError, err)
		if err != nil || len(items) == 0 {
			return err
		}
	}
	b.diag.MemoryItems = pointer(len(items))
	if slices.ContainsFunc(items, endsWithTurns) {
		if err := b.settlePart(ctx, CompactorPart, Skip, errListed); err != nil {
			return err
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
	enricher, query := b.p.enricher, b.query.Text // an abandoned call must not use the build
	text, err := within(ctx, b.boundPart(ctx, b.p.parts.enricher), enricher, func(ctx context.Context) (string, error) { return enricher.Enrich(ctx, query, memories) })
	if err != nil {
		return b.settlePart(ctx, EnricherPart, b.p.parts.enricher.onError, err)
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
		group, own, err := b.affordable(ctx, group, rest, own)
		if err != nil {
			return err
		}
		if len(group) == 0 {
			continue
		}
		if err := b.runGroup(ctx, group, rest, own); err != nil {
			return err
		}
	}
	return nil
}

// count: items, query -> the tokens of each. It believes the counts that items bring, and counts
// all others in one call.
func (b *build) count(ctx context.Context) error {
	defer b.lap(&b.diag.TimesMS.Count)
	b.counts = b.scratch.countsFor(len(b.list.items))
	for i := range b.list.items {
		it := &b.list.items[i]
		if err := it.Validate(); err != nil {
			return fmt.Errorf("items[%d]: %w", i, err)
		}
		b.counts[i] = it.TokenCount
	}
	err := b.countTexts(ctx, b.p.tokenizer, func(it *Item) bool { return it.TokenCount == 0 && (it.Content != "" || it.Parts() != nil) })
	b.countParts()
	if err == nil {
		err = b.countQuery(ctx, b.p.tokenizer)
	}
	if err != nil {
		return err
	}
	_, err = b.recount(ctx)
	return err
}

// fillWindow: items, counts, budget -> window and overflow. After an item that does not fit,
// filling continues with the next one. If the formatter or the tokenizer fails and may be
// skipped, filling starts again with its fallback.
func (b *build) fillWindow(ctx context.Context) error {
	defer b.lap(&b.diag.TimesMS.Fill)
	for {
		again, err := b.tryFill(ctx)
		if err != nil {
			return err
		}
		if !again {
			b.describeWindow()
			return b.keepsSystem()
		}
	}
}

// format: window -> output. It keeps the output that an exact fill has made already.
func (b *build) format(ctx context.Context) (err error) {
	defer b.lap(&b.diag.TimesMS.Format)
	w := b.filling
	if w.Counting != nil {
		return nil
	}
	w.Formatted, err = core.FormatWindow(ctx, b.writer.formatter, w.Window)
	if err == nil {
		return nil
	}
	if err = b.skipFormatter(ctx, err); err == nil {
		w.Formatted, err = core.FormatWindow(ctx, b.writer.formatter, w.Window)
	}
	return err
}

// finish: everything -> result. It calls the callbacks for the end of a build.
func (b *build) finish(ctx context.Context) *Result {
	r, w := &b.docs.result, b.filling
	if b.p.times != nil {
		t := &b.diag.TimesMS
		b.p.times.note(outputTime, time.Duration((t.Count+t.Fill+t.Format)*float64(time.Millisecond)))
	}
	b.diag.Items, b.diag.Lost = b.trace(), append(b.diag.Lost, w.Lost...)
	*r = Result{
		Window:      w.Window,
		Output:      w.Output,
		FormatType:  cmp.Or(w.Type, b.writer.formatter.FormatType()),
		Counted:     w.Counted,
		Counting:    w.Counting,
		Overflow:    w.Overflow,
		Diagnostics: b.diag,
		Partial:     b.partial,
		Degraded:    b.degraded(),
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
