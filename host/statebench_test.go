package host_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/host"
	"github.com/anchor-host/anchor-host/host/steps"
	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/pipeline/format"
)

// BenchmarkState is what a caller waits for a whole step, the score filter over
// 1,000 items in a stock Go guest: with a pause between calls, as between the
// builds of an agent, and back to back.
func BenchmarkState(b *testing.B) {
	items := benchItems(1000)
	query := &pipeline.Query{Text: "q"}
	for _, state := range []host.State{host.StateKeep, host.StateReset, host.StateFresh} {
		h := newHost(b, host.Config{})
		p := loadCounting(b, h, host.PluginConfig{State: state})
		s, err := steps.New(p, abi.OpFilter, steps.Options{})
		if err != nil {
			b.Fatal(err)
		}
		run := func(b *testing.B) {
			if out, err := s.Run(context.Background(), query, items); err != nil || len(out) != 500 {
				b.Fatal(len(out), err)
			}
		}
		b.Run(string(state)+"/waited", func(b *testing.B) {
			for range b.N {
				run(b)
				b.StopTimer()
				host.Settle(p)
				b.StartTimer()
			}
		})
		b.Run(string(state)+"/back-to-back", func(b *testing.B) {
			for b.Loop() {
				run(b)
			}
		})
		b.Run(string(state)+"/parallel", func(b *testing.B) {
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					run(b)
				}
			})
		})
	}
}

// BenchmarkNextInstance makes another instance of a stock Go guest whose init
// builds an index: from the image, and with an init of its own.
func BenchmarkNextInstance(b *testing.B) {
	for name, index := range map[string]int{"plain": 0, "index of 4 MiB": 4 << 10} {
		for _, state := range []host.State{host.StateReset, host.StateFresh} {
			h := newHost(b, host.Config{})
			p := loadCounting(b, h, host.PluginConfig{State: state, Settings: map[string]any{"index": index}})
			b.Run(name+"/"+string(state), func(b *testing.B) {
				for b.Loop() {
					if err := host.MakeInstance(p); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

// BenchmarkReset puts an instance back to the image.
func BenchmarkReset(b *testing.B) {
	h := newHost(b, host.Config{})
	for name, settings := range map[string]map[string]any{"plain": nil, "index of 4 MiB": {"index": 4 << 10}} {
		p := loadCounting(b, h, host.PluginConfig{Settings: settings})
		b.Run(name, func(b *testing.B) { host.ResetRepeatedly(b, p) })
	}
}

// BenchmarkBuildSixPlugins is a whole build of 50 items of 1 KB with six plugin
// steps that keep everything, each reset after its call, and a pause between
// builds. It reports the median in µs.
func BenchmarkBuildSixPlugins(b *testing.B) {
	for _, state := range []host.State{host.StateKeep, host.StateReset} {
		b.Run(string(state), func(b *testing.B) {
			h := newHost(b, host.Config{})
			plugins := make([]*host.Plugin, 6)
			steps := []pipeline.StepConfig{{Name: "items", Priority: 1, Step: appendItems(benchItems(50))}}
			for i := range plugins {
				name := fmt.Sprintf("keep-all-%d", i)
				plugins[i] = loadAllops(b, h, host.PluginConfig{Name: name, State: state})
				step := benchStep(b, plugins[i], map[string]any{"min": 0.0})
				steps = append(steps, pipeline.StepConfig{Name: name, Priority: 10 + i, Step: step})
			}
			p, err := pipeline.New(pipeline.Config{MaxTokens: 100_000, Steps: steps, Formatter: format.Anthropic{}})
			if err != nil {
				b.Fatal(err)
			}
			var times []time.Duration
			for range b.N {
				start := time.Now()
				if _, err := p.Build(context.Background(), pipeline.Query{Text: "q"}); err != nil {
					b.Fatal(err)
				}
				times = append(times, time.Since(start))
				b.StopTimer()
				for _, plugin := range plugins {
					host.Settle(plugin)
				}
				b.StartTimer()
			}
			slices.Sort(times)
			b.ReportMetric(float64(times[len(times)/2].Microseconds()), "p50-µs")
		})
	}
}

func appendItems(items []pipeline.Item) pipeline.Step {
	return pipeline.StepFunc(func(_ context.Context, _ *pipeline.Query, before []pipeline.Item) ([]pipeline.Item, error) {
		return append(before, items...), nil
	})
}
