package pipeline

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/anchor-host/anchor-host/internal/observe"
	"github.com/anchor-host/anchor-host/internal/usedfuel"
	"github.com/anchor-host/anchor-host/pipeline/core"
	"github.com/anchor-host/anchor-host/pipeline/internal/abandon"
	"github.com/anchor-host/anchor-host/pipeline/internal/values"
	"github.com/anchor-host/anchor-host/pipeline/internal/warn"
)

// stepError carries the name of the failed step to fail.
type stepError struct {
	step string
	err  error
}

func (e *stepError) Error() string { return e.err.Error() }

// outcome is the result of one run of a step.
type outcome struct {
	items []Item // for an appender, only the new ones
	err   error
	began time.Time
	took  time.Duration
	fuel  int64
	// waited and guest are the times of the calls of plugins, 0 for a build that is not explained.
	waited, guest time.Duration
}

// startMS is when the run began, in milliseconds from the start of the build. It is 0 for a build
// that is not explained, whose document has fewer keys.
func (o *outcome) startMS(b *build) float64 {
	if b.recorder == nil || o.began.IsZero() {
		return 0
	}
	return values.Milliseconds(o.began.Sub(b.began))
}

// stepRun is the private state of one run of a step: a copy of the query that the step may
// change, and a meter for its fuel.
type stepRun struct {
	query Query
	meter usedfuel.Meter
	notes core.Notes // what the step lacks
}

// runGroup runs one step, or several at the same time. It merges their outcomes, and sends
// the events of each, in the order of registration. When one of them fails the build,
// runGroup cancels those after it, and they leave no trace.
//
// runs has a place for each step of the group. next are the steps after the group.
func (b *build) runGroup(ctx context.Context, group, next []step, runs []stepRun) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	b.show(group)
	if len(group) == 1 {
		b.p.onStepStart(ctx, group[0].Name, b.list.items)
		out := b.attemptAlone(ctx, &group[0], &runs[0])
		b.at = b.at.Add(out.took)
		b.note(&group[0], &runs[0])
		return b.settle(ctx, &group[0], out, next)
	}
	groupCtx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	defer func() { b.at = b.p.now() }()
	defer running.Wait()
	defer cancel()
	outcomes := make([]chan outcome, len(group))
	for i, items := 0, b.list.items; i < len(group); i++ {
		outcomes[i] = make(chan outcome, 1)
		running.Go(func() {
			out := outcome{err: abandon.ErrExited}
			defer func() { outcomes[i] <- out }()
			out = b.attempt(groupCtx, &group[i], &runs[i], items, nil, b.p.now(), true)
		})
	}
	for i := range group {
		b.p.onStepStart(ctx, group[i].Name, b.list.items)
		out := <-outcomes[i]
		b.note(&group[i], &runs[i])
		if err := b.settle(ctx, &group[i], out, next); err != nil {
			return err
		}
	}
	return nil
}

// attemptAlone runs a step while no other step runs.
func (b *build) attemptAlone(ctx context.Context, st *step, run *stepRun) outcome {
	began, l := b.mark(), b.list
	if l.recorded || st.writer == nil {
		return b.attempt(ctx, st, run, l.items, nil, began, false)
	}
	var made []Item
	defer func() { l.take(made) }() // runs also when the step ends the goroutine
	out := b.attempt(ctx, st, run, l.items, l.lend(len(l.items)), began, false)
	if out.err == nil {
		made = out.items
	}
	return out
}

// attempt runs a step under its timeout and checks its answer. It does not change the build.
// spare is the list that a writer may borrow.
func (b *build) attempt(ctx context.Context, st *step, run *stepRun, items, spare []Item, began time.Time, grouped bool) outcome {
	ctx, span := observe.Begin(ctx, observe.Work{Kind: observe.Step, Name: st.Name, Plugin: st.module.Plugin})
	outer := ctx
	run.meter.Timed = b.recorder != nil
	ctx = run.notes.Under(run.meter.Under(ctx))
	if st.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, st.Timeout)
		defer cancel()
	}
	out, err := st.protected(ctx, b.query, &run.query, items, spare, grouped)
	if err == nil && !sameList(out, items) {
		err = core.ValidateItems(out)
	}
	if span.Observed() {
		span.End(observe.Result{
			Err: err, Reason: ReasonOf(err), Skipped: err != nil && st.OnError == Skip && outer.Err() == nil, Items: len(out), Fuel: run.meter.Fuel(),
		})
	}
	waited, guest := run.meter.Times()
	return outcome{items: out, err: err, began: began, took: b.p.now().Sub(began), fuel: run.meter.Fuel(), waited: waited, guest: guest}
}

// protected calls the step, with as many copies as its access, timeout and policy require.
func (st *step) protected(ctx context.Context, q, own *Query, items, spare []Item, grouped bool) ([]Item, error) {
	if st.access == isolatedAccess {
		return st.call(ctx, q, items, spare)
	}
	*own = q.Clone()
	if st.copies(grouped) {
		items = core.CloneItems(items)
	}
	if st.leaves(grouped) {
		return leave(ctx, st.Timeout, st.Step, func(ctx context.Context) ([]Item, error) { return st.call(ctx, own, items, nil) })
	}
	return st.call(ctx, own, items, nil)
}

func (st *step) call(ctx context.Context, q *Query, items, spare []Item) (out []Item, err error) {
	defer core.Recover(&err)
	items = items[:len(items):len(items)] // appending cannot overwrite what follows
	switch {
	case st.appender != nil:
		return st.appender.Append(ctx, q, items)
	case st.writer != nil:
		return st.writer.RunInto(ctx, q, items, spare)
	}
	return st.Step.Run(ctx, q, items)
}

// settle enters the outcome of a step into the build. After a failure under Skip it records
// and logs the failure, and keeps the items. next are the steps that did not run yet.
func (b *build) settle(ctx context.Context, st *step, out outcome, next []step) error {
	switch {
	case out.err == nil:
		b.p.times.note(st.Name, out.took)
	case errors.Is(out.err, context.DeadlineExceeded):
		b.p.times.note(st.Name, 2*out.took) // it takes longer, and nobody knows how much
	}
	switch {
	case out.err == nil:
	case unclassified(out.err) && ctx.Err() == nil:
		if err := b.settlePart(ctx, st.Name+"."+ClassifierPart, Skip, out.err); err != nil {
			return err
		}
	default:
		err := b.settleFailure(ctx, st, out)
		b.at = b.p.now()
		return err
	}
	if st.appender != nil {
		out.items = b.list.appended(st, out.items, next)
	}
	same := sameList(out.items, b.list.items)
	b.list.replace(st, out.items)
	b.recordStep(st, same, next)
	b.diag.Steps = append(b.diag.Steps, StepDiagnostic{
		Name: st.Name, ItemsAfter: len(b.list.items), TimeMS: values.Milliseconds(out.took), StartMS: out.startMS(b), Plugin: st.module.Plugin, Fuel: out.fuel,
		WaitMS: values.Milliseconds(out.waited), GuestMS: values.Milliseconds(out.guest),
	})
	b.p.onStepEnd(ctx, st.Name, b.list.items, out.took)
	return nil
}

// unclassified reports whether a step continued without its classifier.
func unclassified(err error) bool {
	var failed unclassifiedError
	return errors.As(err, &failed)
}

// settlePart enters the failure of a part that is not a step. Under Skip it records and logs
// the failure as that of a step. Otherwise it returns the failure as the error of the stage.
func (b *build) settlePart(ctx context.Context, name string, policy OnError, err error) error {
	if policy != Skip || ctx.Err() != nil {
		return err
	}
	return b.settleFailure(ctx, &step{StepConfig: StepConfig{Name: name, OnError: Skip}}, outcome{err: err})
}

func (b *build) settleFailure(ctx context.Context, st *step, out outcome) error {
	err, ended := out.err, ctx.Err()
	if ended != nil && !errors.Is(err, ended) {
		err = fmt.Errorf("%w: %w", ended, err)
	}
	failure := StepFailure{Step: st.Name, Plugin: PluginOf(err), Reason: ReasonOf(err), Message: observe.Text(ctx, err),
		StartMS: out.startMS(b), Fuel: out.fuel, WaitMS: values.Milliseconds(out.waited), GuestMS: values.Milliseconds(out.guest)}
	if b.recorder != nil {
		failure.TimeMS = values.Milliseconds(out.took)
	}
	b.diag.StepFailures = append(b.diag.StepFailures, failure)
	skip := st.OnError == Skip && ended == nil
	if skip {
		b.partial = b.partial || b.p.partial && (errors.Is(err, context.DeadlineExceeded) || errors.As(err, new(noTimeError)))
		b.diag.SkippedSteps = append(b.diag.SkippedSteps, st.Name)
	} else {
		b.diag.FailedStep = st.Name
	}
	if len(b.p.callbacks) > 0 {
		b.p.onStepError(ctx, st.Name, &BuildError{Stage: "step", Step: st.Name, Err: err, Diagnostics: b.diag.clone()})
	}
	if !skip {
		return &stepError{st.Name, err}
	}
	if !b.p.reported {
		warn.Log(ctx, b.p.logger, "step skipped", err, slog.String("step", st.Name),
			slog.String("plugin", failure.Plugin), slog.String("reason", failure.Reason))
	}
	return nil
}
