package pipeline

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// taking is a step that takes its time, unless its context ends.
func taking(took *time.Duration) Step {
	return StepFunc(func(ctx context.Context, _ *Query, items []Item) ([]Item, error) {
		select {
		case <-time.After(*took):
			return items, nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	})
}

// slowMemory is a memory that takes its time.
type slowMemory time.Duration

func (m slowMemory) Items(ctx context.Context, _ *Query) ([]Item, error) {
	select {
	case <-time.After(time.Duration(m)):
		return nil, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// A partial build meets its deadline: it leaves out optional steps that take too long, keeps time for
// those that must run, and says what it left out.
func TestPartialBuilds(t *testing.T) {
	const ms = time.Millisecond
	synctest.Test(t, func(t *testing.T) {
		rerank, must, late := 60*ms, 50*ms, 10*ms
		cfg := Config{
			Tokenizer: WordTokenizer(), MaxTokens: 100, Logger: slog.New(slog.DiscardHandler), Partial: true, Times: &StepTimes{},
			Memory: slowMemory(5 * ms), MemoryOnError: Skip,
			Steps: []StepConfig{
				{Name: "rerank", Step: taking(&rerank), OnError: Skip, Priority: 1},
				{Name: "must", Step: taking(&must), Priority: 2},
				{Name: "late", Step: taking(&late), OnError: Skip, Priority: 3},
			},
		}
		build := func(within time.Duration) (*Result, time.Duration, error) {
			p, err := New(cfg)
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			if within > 0 {
				ctx, cancel = context.WithTimeout(t.Context(), within)
			}
			defer cancel()
			start := time.Now()
			r, err := p.Build(ctx, Query{Text: "q"})
			return r, time.Since(start), err
		}
		expect := func(within time.Duration, wantFailures ...string) {
			t.Helper()
			r, took, err := build(within)
			if err != nil {
				t.Fatalf("within %v: %v", within, err)
			}
			var failures []string
			for _, f := range r.Diagnostics.StepFailures {
				failures = append(failures, f.Step+" "+f.Reason)
			}
			if fmt.Sprint(failures) != fmt.Sprint(wantFailures) || r.Partial != (len(wantFailures) > 0) || len(r.Diagnostics.SkippedSteps) != len(wantFailures) {
				t.Errorf("within %v, took %v: %v (partial: %v), want %v", within, took, failures, r.Partial, wantFailures)
			}
			if within > 0 && took > within {
				t.Errorf("within %v: took %v", within, took)
			}
		}
		if _, _, err := build(100 * ms); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("no times are known, and too little is left for the step that must run: %v", err)
		}
		for range 30 {
			expect(0) // without a deadline nothing is left out
		}
		expect(200 * ms)
		expect(100*ms, "rerank no_time")                  // 65 ms with must and the memory
		expect(80*ms, "rerank no_time")                   // still time for late
		expect(65*ms, "rerank no_time", "late no_time")   // 58.5 ms without the output
		rerank, must, late = 10*time.Second, 50*ms, 10*ms // becomes slow
		expect(150*ms, "rerank timeout")
		expect(150*ms, "rerank no_time") // it is known now
		rerank = ms                      // becomes fast again: it is tried again at last
		tries := 0
		for ; tries < 200; tries++ {
			r, _, err := build(150 * ms)
			if err != nil {
				t.Fatal(err)
			}
			if !r.Partial {
				break
			}
		}
		if tries == 0 || tries == 200 {
			t.Errorf("tried again after %d builds", tries)
		}
		cfg.Memory = slowMemory(time.Hour)
		expect(200*ms, "memory timeout", "rerank no_time")
		cfg.Partial = false
		if _, _, err := build(100 * ms); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("not partial: %v", err)
		}
	})
}

// If the rest of a partial build needs more time than is left, its memory has next to none. It must
// not have all the time instead.
func TestPartialBuildWithoutTimeForMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		took, times := 5*time.Millisecond, &StepTimes{}
		for range 10 {
			times.note("must", 100*time.Millisecond) // so it was in other builds
		}
		p, err := New(Config{
			Tokenizer: WordTokenizer(), MaxTokens: 100, Logger: slog.New(slog.DiscardHandler), Partial: true, Times: times,
			Memory: slowMemory(time.Hour), MemoryOnError: Skip, Steps: []StepConfig{{Name: "must", Step: taking(&took)}},
		})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		start := time.Now()
		r, err := p.Build(ctx, Query{Text: "q"})
		if err != nil {
			t.Fatalf("after %v: %v", time.Since(start), err)
		}
		if f := r.Diagnostics.StepFailures; len(f) != 1 || f[0].Step != "memory" || f[0].Reason != "timeout" || time.Since(start) != 6*time.Millisecond {
			t.Errorf("after %v: %+v, want the timeout of the memory after 1ms, and 5ms of the step", time.Since(start), f)
		}
	})
}

// Steps that run at the same time are left out one by one.
func TestPartialGroups(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		times := &StepTimes{}
		for range 10 {
			times.note("slow", time.Second)
			times.note("fast", time.Millisecond)
		}
		find := func(name string) StepConfig {
			return StepConfig{Name: name, OnError: Skip, Step: RetrieverStep(retrieverFunc(func(context.Context, *Query, int) ([]Item, error) {
				return []Item{{ID: name, Source: SourceRetrieval, Content: name}}, nil
			}), 0)}
		}
		p, err := New(Config{Tokenizer: WordTokenizer(), MaxTokens: 100, Logger: slog.New(slog.DiscardHandler), Partial: true, Times: times, Steps: []StepConfig{find("slow"), find("fast")}})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
		defer cancel()
		r, err := p.Build(ctx, Query{Text: "q"})
		if err != nil || !r.Partial || len(r.Window.Items) != 1 || r.Window.Items[0].ID != "fast" || r.Diagnostics.SkippedSteps[0] != "slow" {
			t.Fatalf("%+v, %v", r, err)
		}
		if m := r.Diagnostics.StepFailures[0].Message; !strings.Contains(m, "needs up to 1.") {
			t.Error(m)
		}
	})
}

// Names that clients choose take no more than some memory.
func TestStepTimesAreBounded(t *testing.T) {
	var times StepTimes
	for i := range 10_000 {
		times.note(fmt.Sprint(i), time.Second)
		times.note(strings.Repeat("x", 1000)+fmt.Sprint(i), time.Second)
	}
	if len(times.steps) > maxStepTimes {
		t.Errorf("%d names", len(times.steps))
	}
}
