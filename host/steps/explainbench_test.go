package steps_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/anchor-host/anchor-host/host"
	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/pipeline/format"
)

// BenchmarkExplainSixPlugins answers what the stories of the items add to a build whose
// six steps are plugins, each of which drops a few items. Builds with and without take
// turns, so that other work on the machine falls on both; it reports both medians in µs
// and their ratio.
func BenchmarkExplainSixPlugins(b *testing.B) {
	for _, n := range []int{50, 1000} {
		for _, state := range []host.State{host.StateKeep, host.StateReset} {
			b.Run(fmt.Sprintf("%d/%s", n, state), func(b *testing.B) {
				h := newHost(b, host.Config{})
				plugins := make([]*host.Plugin, 6)
				steps := []pipeline.StepConfig{{Name: "items", Priority: 1, Step: appendItems(benchItems(n))}}
				for i := range plugins {
					name := fmt.Sprintf("filter-%d", i)
					plugins[i] = loadSpec(b, h, allopsSpec(b), host.PluginConfig{Name: name, State: state})
					step := benchStep(b, plugins[i], map[string]any{"min": float64(i) / 50})
					steps = append(steps, pipeline.StepConfig{Name: name, Priority: 10 + i, Step: step})
				}
				var times [2][]time.Duration
				var builds [2]*pipeline.Pipeline
				for i := range builds {
					p, err := pipeline.New(pipeline.Config{MaxTokens: 1 << 20, Steps: steps, Formatter: format.Anthropic{}, Explain: i == 1})
					if err != nil {
						b.Fatal(err)
					}
					builds[i] = p
				}
				for i := range 2 * b.N {
					which := (i + i/2) % 2 // each is first in every other pair
					start := time.Now()
					if _, err := builds[which].Build(context.Background(), pipeline.Query{Text: "q"}); err != nil {
						b.Fatal(err)
					}
					times[which] = append(times[which], time.Since(start))
					b.StopTimer()
					time.Sleep(time.Millisecond) // instances are reset
					b.StartTimer()
				}
				for i := range times {
					slices.Sort(times[i])
				}
				off, on := times[0][len(times[0])/2], times[1][len(times[1])/2]
				b.ReportMetric(float64(off.Nanoseconds())/1e3, "off-p50-µs")
				b.ReportMetric(float64(on.Nanoseconds())/1e3, "on-p50-µs")
				b.ReportMetric(float64(on)/float64(off), "on/off")
				b.ReportMetric(float64(times[1][len(times[1])/4])/float64(times[0][len(times[0])/4]), "on/off-p25")
			})
		}
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
				plugins[i] = loadSpec(b, h, allopsSpec(b), host.PluginConfig{Name: name, State: state})
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
				time.Sleep(time.Millisecond) // instances are reset
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
