package pipeline

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/anchor-host/anchor-host/internal/testkit/await"
	"github.com/anchor-host/anchor-host/pipeline/internal/abandon"
)

// hangingMemory never answers before it is released.
type hangingMemory struct{ release chan struct{} }

func (m *hangingMemory) Items(context.Context, *Query) ([]Item, error) {
	<-m.release
	return nil, nil
}

// A memory and a step that hang must not leave one goroutine behind for each build.
func TestBuildsLeaveFewGoroutinesBehind(t *testing.T) {
	m := &hangingMemory{make(chan struct{})}
	hangs := StepFunc(func(context.Context, *Query, []Item) ([]Item, error) { <-m.release; return nil, nil })
	p, err := New(Config{
		Tokenizer: WordTokenizer(), MaxTokens: 100, Memory: m, MemoryTimeout: time.Millisecond, MemoryOnError: Skip,
		Steps: []StepConfig{{Name: "hangs", Step: hangs, Timeout: time.Millisecond, OnError: Skip}},
	})
	if err != nil {
		t.Fatal(err)
	}
	before := runtime.NumGoroutine()
	var result *Result
	for range 200 {
		if result, err = p.Build(t.Context(), Query{Text: "q"}); err != nil {
			t.Fatal(err)
		}
	}
	more := func() int { return runtime.NumGoroutine() - before }
	if !await.True(func() bool { return more() <= 2*abandon.Most }) { // one that ends may still be there
		t.Errorf("%d goroutines left behind by 200 builds, want at most %d", more(), 2*abandon.Most)
	}
	if got := result.Diagnostics.StepFailures[len(result.Diagnostics.StepFailures)-1].Message; got != "not called: 8 earlier calls were abandoned after their time limit and still run (it must return when its context ends)" {
		t.Errorf("the step says %q", got)
	}
	close(m.release)
	if _, err := within(t.Context(), time.Hour, &hangingMemory{}, func(context.Context) (int, error) { return 0, errors.New("own") }); err == nil || err.Error() != "own" {
		t.Errorf("own error: %v", err)
	}
}

// The first time of a step counts as half uncertain, and each further one as TCP counts round trips.
func TestStepTimesExpect(t *testing.T) {
	const ms = time.Millisecond
	var times StepTimes
	expect := func(what string, want time.Duration) {
		t.Helper()
		if got := times.expect("s"); got != want {
			t.Errorf("%s: %v, want %v", what, got, want)
		}
	}
	expect("not run", 0)
	times.note("s", 100*ms)
	expect("once: 100ms and 3 times 50ms", 250*ms)
	times.note("s", 100*ms)
	expect("again: 100ms and 3 times 37.5ms", 212*ms+500*time.Microsecond)
	times.note("s", 20*ms)
	expect("faster: 90ms and 3 times 48.125ms", 234*ms+375*time.Microsecond)
	times.fade("s")
	expect("left out: a sixteenth less", 219_726_564)
	times.note(strings.Repeat("n", maxStepName), ms)
	times.note(strings.Repeat("n", maxStepName+1), ms)
	if len(times.steps) != 2 {
		t.Errorf("%d names are remembered, want 2: one of them is too long", len(times.steps))
	}
}

// A step is left out if it takes longer than what is left, and runs if it takes as long.
func TestAffordableSteps(t *testing.T) {
	const ms = time.Millisecond
	for takes, skipped := range map[time.Duration]bool{10 * ms: false, 10*ms + 1: true, 0: false} {
		synctest.Test(t, func(t *testing.T) {
			took := ms
			p, err := New(Config{
				Tokenizer: WordTokenizer(), MaxTokens: 100, Logger: slog.New(slog.DiscardHandler), Partial: true,
				Times: &StepTimes{steps: map[string]stepTime{"s": {takes, 0}, outputTime: {5 * ms, 0}}},
				Steps: []StepConfig{{Name: "s", Step: taking(&took), OnError: Skip}},
			})
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), 15*ms)
			defer cancel()
			r, err := p.Build(ctx, Query{Text: "q"})
			if err != nil || len(r.Diagnostics.StepFailures) > 0 != skipped {
				t.Errorf("a step that takes %v, with 10ms left: %+v, error %v, want skipped %v", takes, r, err, skipped)
			}
		})
	}
}

// An optional part has its own time limit, or what is left for it if that is less.
func TestOptionalPartsHaveTheSmallerLimit(t *testing.T) {
	const ms = time.Millisecond
	for own, want := range map[time.Duration]time.Duration{0: 80 * ms, 20 * ms: 20 * ms, 80 * ms: 80 * ms, time.Hour: 80 * ms} {
		synctest.Test(t, func(t *testing.T) {
			p, err := New(Config{
				Tokenizer: WordTokenizer(), MaxTokens: 100, Logger: slog.New(slog.DiscardHandler), Partial: true,
				Times:  &StepTimes{steps: map[string]stepTime{outputTime: {20 * ms, 0}}},
				Memory: slowMemory(2 * time.Hour), MemoryOnError: Skip, MemoryTimeout: own,
			})
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), 100*ms)
			defer cancel()
			start := time.Now()
			if _, err := p.Build(ctx, Query{Text: "q"}); err != nil || time.Since(start) != want {
				t.Errorf("memory with a limit of %v: built after %v, error %v, want %v", own, time.Since(start), err, want)
			}
		})
	}
}

func TestNoTimeError(t *testing.T) {
	for left, want := range map[time.Duration]string{
		-time.Second: "skipped: the other steps need the remaining time",
		0:            "skipped: the other steps need the remaining time",
		time.Second:  "skipped: needs up to 2s, only 1s remain",
		1:            "skipped: needs up to 2s, only 0s remain",
	} {
		if got := (noTimeError{2 * time.Second, left}).Error(); got != want {
			t.Errorf("%v left: %q, want %q", left, got, want)
		}
	}
}

// A timeout of something below a part is not that of the part.
func TestOwnTimeoutsOfParts(t *testing.T) {
	own := fmt.Errorf("the search: %w", context.DeadlineExceeded)
	_, err := within(t.Context(), time.Hour, &hangingMemory{}, func(context.Context) (int, error) { return 0, own })
	if err == nil || err.Error() != own.Error() {
		t.Errorf("error %v, want %v", err, own)
	}
}

// A step that would read a list which others have meanwhile gets no timeout that it did not have.
func TestMayBeBounded(t *testing.T) {
	for _, c := range []struct {
		st   step
		want bool
	}{
		{step{access: isolatedAccess}, true}, {step{access: foreignAccess}, true}, {step{access: adaptedAccess}, false},
		{step{access: adaptedAccess, appender: RetrieverStep(fixedRetriever(nil), 0).(Appender)}, true},
		{step{access: adaptedAccess, StepConfig: StepConfig{Timeout: 1}}, true},
	} {
		if got := c.st.mayBeBounded(); got != c.want {
			t.Errorf("%+v: %v, want %v", c.st, got, c.want)
		}
	}
}

// changingFormatter changes what it is given.
type changingFormatter struct{}

func (changingFormatter) FormatType() string { return "changing" }

func (changingFormatter) Format(_ context.Context, w *Window) (any, error) {
	w.Items[0].Content, w.Items[0].Metadata["by"], w.MaxTokens = "changed", "formatter", 0
	return "", nil
}

// A formatter with a time limit may go on after the build has left it. It works on a copy.
func TestTimedFormattersHaveACopy(t *testing.T) {
	w := &Window{MaxTokens: 9, Items: []Item{{ID: "a", Content: "text", Metadata: map[string]any{"by": "source"}}}}
	if _, err := (timedFormatter{changingFormatter{}, time.Hour}).Format(t.Context(), w); err != nil {
		t.Fatal(err)
	}
	if it := w.Items[0]; it.Content != "text" || it.Metadata["by"] != "source" || w.MaxTokens != 9 {
		t.Errorf("a formatter has changed the window of the build: %+v", w)
	}
}

// An optional step of a partial build ends after its own time limit, or after what is left for it if
// that is less.
func TestOptionalStepsHaveTheSmallerLimit(t *testing.T) {
	const ms = time.Millisecond
	for own, want := range map[time.Duration]time.Duration{0: 80 * ms, 20 * ms: 20 * ms, time.Hour: 80 * ms} {
		synctest.Test(t, func(t *testing.T) {
			took := 2 * time.Hour
			p, err := New(Config{
				Tokenizer: WordTokenizer(), MaxTokens: 100, Logger: slog.New(slog.DiscardHandler), Partial: true,
				Times: &StepTimes{steps: map[string]stepTime{outputTime: {20 * ms, 0}}},
				Steps: []StepConfig{{Name: "s", Step: taking(&took), OnError: Skip, Timeout: own}},
			})
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), 100*ms)
			defer cancel()
			start := time.Now()
			if _, err := p.Build(ctx, Query{Text: "q"}); err != nil || time.Since(start) != want {
				t.Errorf("a step with a limit of %v: built after %v, error %v, want %v", own, time.Since(start), err, want)
			}
		})
	}
}
