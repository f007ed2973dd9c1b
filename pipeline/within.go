package pipeline

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/anchor-host/anchor-host/pipeline/core"
	"github.com/anchor-host/anchor-host/pipeline/internal/abandon"
)

// within calls f for a part of a build, such as its memory provider, and bounds its time. A
// timeout of 0 means no bound. within may abandon a part that is not [Isolated] while f is
// running. So f must not use anything that the build uses afterwards.
func within[T any](ctx context.Context, timeout time.Duration, part any, f func(context.Context) (T, error)) (T, error) {
	if timeout <= 0 {
		return guarded(ctx, f)
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	if isolated(part) {
		return guarded(ctx, f)
	}
	return leave(ctx, timeout, part, f)
}

// leave calls f in a goroutine of its own, and abandons it when the context ends first. If too
// many abandoned calls of the part still run, f is not called, and the error says so. timeout is
// the time limit of the context, for the error; 0 means that it has none.
func leave[T any](ctx context.Context, timeout time.Duration, part any, f func(context.Context) (T, error)) (T, error) {
	value, err := abandon.Call(ctx, part, func() (T, error) { return guarded(ctx, f) })
	if timeout > 0 && ctx.Err() != nil && errors.Is(err, context.DeadlineExceeded) {
		err = fmt.Errorf("no answer within %v: %w", timeout, err)
	}
	return value, err
}

// guarded calls f and turns a panic into an error.
func guarded[T any](ctx context.Context, f func(context.Context) (T, error)) (value T, err error) {
	err = core.Guard(func() (err error) {
		value, err = f(ctx)
		return err
	})
	return value, err
}

// timedFormatter bounds the time of each call of a formatter.
type timedFormatter struct {
	Formatter
	timeout time.Duration
}

// Format implements [Formatter].
func (t timedFormatter) Format(ctx context.Context, w *Window) (any, error) {
	if !isolated(t.Formatter) {
		own := *w
		own.Items = core.CloneItems(w.Items)
		w = &own
	}
	return within(ctx, t.timeout, t.Formatter, func(ctx context.Context) (any, error) { return t.Formatter.Format(ctx, w) })
}

// StepTimes remembers how long steps took, by their names. It is safe for concurrent use, and
// remembers 1024 names. The zero value is ready.
type StepTimes struct {
	mu    sync.Mutex
	steps map[string]stepTime
}

// stepTime is a mean with its mean deviation, as TCP estimates round trips: the newest value has an
// eighth, and its deviation a quarter.
type stepTime struct{ mean, deviation time.Duration }

const (
	maxStepTimes = 1024
	maxStepName  = 256 // of names that are remembered, in bytes
	// outputTime is the name for counting, filling and formatting together. No step has it.
	outputTime = "\x00output"
)

// note enters how long a step took.
func (t *StepTimes) note(name string, took time.Duration) {
	if t == nil || len(name) > maxStepName {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	s, known := t.steps[name]
	if !known {
		if t.steps == nil || len(t.steps) >= maxStepTimes {
			t.steps = make(map[string]stepTime)
		}
		t.steps[name] = stepTime{took, took / 2}
		return
	}
	s.deviation += ((took - s.mean).Abs() - s.deviation) / 4
	s.mean += (took - s.mean) / 8
	t.steps[name] = s
}

// expect returns the time that a step seldom exceeds, and 0 for one that has not run.
func (t *StepTimes) expect(name string) time.Duration {
	if t == nil {
		return 0
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	s := t.steps[name]
	return s.mean + 3*s.deviation
}

// fade makes a step that was left out seem a little faster, so that it is tried again at last.
func (t *StepTimes) fade(name string) {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if s, known := t.steps[name]; known {
		t.steps[name] = stepTime{s.mean - s.mean/16, s.deviation - s.deviation/16}
	}
}

// noTimeError is why a step was left out of a partial build.
type noTimeError struct{ takes, left time.Duration }

func (e noTimeError) Error() string {
	if e.left <= 0 {
		return "skipped: the other steps need the remaining time"
	}
	return fmt.Sprintf("skipped: needs up to %v, only %v remain", e.takes.Round(time.Microsecond), e.left.Round(time.Microsecond))
}

// Reason implements [Reasoner].
func (noTimeError) Reason() string { return "no_time" }

// pace returns how much of the time of a partial build is left for optional work before the given
// steps. ok is false if the build has all the time, or none of it may be left out.
func (b *build) pace(ctx context.Context, rest []step) (left time.Duration, ok bool) {
	if !b.p.partial {
		return 0, false
	}
	deadline, ok := ctx.Deadline()
	if !ok {
		return 0, false
	}
	left = time.Until(deadline)
	left -= max(b.p.times.expect(outputTime), min(left/10, 20*time.Millisecond)) // what is not known takes some time, too
	for len(rest) > 0 {
		group, longest := rest[:rest[0].group], time.Duration(0)
		for i := range group {
			if group[i].OnError != Skip {
				longest = max(longest, b.p.times.expect(group[i].Name))
			}
		}
		left, rest = left-longest, rest[len(group):]
	}
	return left, true
}

// affordable returns the steps of a group for which there is time, in a partial build. The optional
// ones among them, those under Skip, end in time for the rest of the build. Others it enters as
// skipped.
func (b *build) affordable(ctx context.Context, group, rest []step, runs []stepRun) ([]step, []stepRun, error) {
	left, ok := b.pace(ctx, rest)
	if !ok {
		return group, runs, nil
	}
	kept := make([]step, 0, len(group))
	for i := range group {
		st := group[i]
		if st.OnError == Skip {
			if takes := b.p.times.expect(st.Name); left <= 0 || takes > left {
				b.p.times.fade(st.Name)
				if err := b.settleFailure(ctx, &st, outcome{err: noTimeError{takes, left}}); err != nil {
					return nil, nil, err
				}
				continue
			}
			if st.mayBeBounded() && (st.Timeout == 0 || left < st.Timeout) {
				st.Timeout = left
			}
		}
		kept = append(kept, st)
	}
	return kept, runs[:len(kept)], nil
}

// mayBeBounded reports whether the step may get a timeout while the build runs: not if it would then
// go on reading a list that the build has lent to others.
func (st *step) mayBeBounded() bool {
	return st.Timeout > 0 || st.access != adaptedAccess || st.appender != nil
}

// boundPart returns the timeout of an optional part of a partial build, such as its memory: its own
// one, or less, so that the rest of the build has its time.
func (b *build) boundPart(ctx context.Context, o policy) time.Duration {
	left, ok := b.pace(ctx, b.p.steps)
	if !ok || o.onError != Skip || o.timeout > 0 && o.timeout < left {
		return o.timeout
	}
	return max(left, time.Millisecond)
}
