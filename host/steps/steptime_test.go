package steps_test

import (
	"context"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/host"
	"github.com/anchor-host/anchor-host/host/steps"
	"github.com/anchor-host/anchor-host/internal/testkit/await"
	"github.com/anchor-host/anchor-host/internal/usedfuel"
	"github.com/anchor-host/anchor-host/pipeline"
)

// A build that is explained knows how long the calls of each step waited for an instance and how long
// they ran. Other builds have no such numbers.
func TestDiagnosticsHaveTheTimesOfSteps(t *testing.T) {
	var both [2]pipeline.StepFailure
	if !await.Enough(60*time.Millisecond, func(runs time.Duration) (enough bool) { // for calls to begin soon, and to meet
		both, enough = checkTimes(t, runs)
		return enough
	}) {
		t.Errorf("want calls that ran as long as they may, and one that waited for the other: %+v", both)
	}
}

// checkTimes checks what two builds say whose calls end after a time. It reports whether both calls ran
// for most of it, and one of them waited for the other.
func checkTimes(t *testing.T, runs time.Duration) (both [2]pipeline.StepFailure, enough bool) {
	t.Helper()
	p := load(t, newHost(t, host.Config{}), "spin-forever", host.PluginConfig{Limits: host.Limits{Instances: 1, Timeout: runs}})
	s, err := steps.New(p, abi.OpFilter, steps.Options{})
	if err != nil {
		t.Fatal(err)
	}
	build := func(explain bool) pipeline.StepFailure {
		made, err := pipeline.New(pipeline.Config{
			Logger: slog.New(slog.DiscardHandler), Tokenizer: pipeline.WordTokenizer(), Explain: explain,
			Steps: []pipeline.StepConfig{{Name: "give", Priority: 1, Step: appendItems(benchItems(3))}, {Name: "s", Step: s, OnError: pipeline.Skip}},
		})
		if err != nil {
			t.Error(err)
			return pipeline.StepFailure{}
		}
		r, err := made.Build(t.Context(), pipeline.Query{Text: "q"})
		if err != nil || len(r.Diagnostics.StepFailures) != 1 {
			t.Errorf("%v, %+v", err, r)
			return pipeline.StepFailure{}
		}
		if own := r.Diagnostics.Steps[0]; own.WaitMS != 0 || own.GuestMS != 0 {
			t.Errorf("a native step: %+v", own)
		}
		return r.Diagnostics.StepFailures[0]
	}
	var all sync.WaitGroup
	for i := range both {
		all.Go(func() { both[i] = build(true) })
	}
	all.Wait()
	waited, ran := 0, 0
	least := float64(runs.Milliseconds()) * 0.9
	for _, f := range both {
		if f.TimeMS < f.GuestMS+f.WaitMS-0.02 {
			t.Errorf("%+v", f)
		}
		if f.GuestMS >= least {
			ran++
		}
		if f.WaitMS > least/2 {
			waited++
		}
	}
	if waited > 1 {
		t.Errorf("%d calls waited for the only instance: %+v", waited, both)
	}
	if f := build(false); f.WaitMS != 0 || f.GuestMS != 0 || f.Reason != string(abi.ReasonTimeout) {
		t.Errorf("without Explain: %+v", f)
	}
	return both, ran == 2 && waited == 1
}

// timedStep is a step of a plugin, and a function that runs it, timed or not.
func timedStep(tb testing.TB) func(timed bool) error {
	tb.Helper()
	p := load(tb, newHost(tb, host.Config{}), "keep-first", host.PluginConfig{Limits: host.Limits{Instances: 1}})
	s, err := steps.New(p, abi.OpFilter, steps.Options{})
	if err != nil {
		tb.Fatal(err)
	}
	items, q := benchItems(50), pipeline.Query{Text: "q"}
	return func(timed bool) error {
		m := usedfuel.Meter{Timed: timed}
		_, err := s.Run(m.Under(context.Background()), &q, items)
		return err
	}
}

// To measure a call allocates nothing.
func TestTimesOfStepsAllocateNothing(t *testing.T) {
	if underRace {
		t.Skip("the race detector allocates")
	}
	run := timedStep(t)
	count := func(timed bool) float64 {
		return testing.AllocsPerRun(200, func() {
			if err := run(timed); err != nil {
				t.Fatal(err)
			}
		})
	}
	off, on := count(false), count(true)
	if on > off {
		t.Errorf("%.0f allocations, %.0f with times", off, on)
	}
}

func BenchmarkTimedStep(b *testing.B) {
	run := timedStep(b)
	for name, timed := range map[string]bool{"off": false, "on": true} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if err := run(timed); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
