package steps_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/host"
	"github.com/anchor-host/anchor-host/host/steps"
	"github.com/anchor-host/anchor-host/pipeline"
)

// benchItems are n items as a retriever returns them: 500 bytes of text, a
// score, four metadata values.
func benchItems(n int) []pipeline.Item {
	items := make([]pipeline.Item, n)
	text := strings.Repeat("the quick brown fox jumps over it ", 15)[:500]
	for i := range items {
		items[i] = pipeline.Item{
			ID: fmt.Sprintf("doc-%d", i), Content: text, Source: pipeline.SourceRetrieval, Score: float64(i%100) / 100,
			Priority: 5, TokenCount: 120, CreatedAt: time.Unix(1_700_000_000, 0),
			Metadata: map[string]any{"path": "docs/a.md", "title": "A title", "lang": "en", "section": "intro"},
		}
	}
	return items
}

// BenchmarkScoreFilter is a whole step as the pipeline runs it: 1,000 items
// through a stock Go guest that keeps half of them.
func BenchmarkScoreFilter(b *testing.B) {
	items := benchItems(1000)
	query := &pipeline.Query{Text: "how do I parse flags"}
	settings := map[string]any{"min": 0.5}
	run := func(name string, step pipeline.Step) {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				out, err := step.Run(context.Background(), query, items)
				if err != nil || len(out) != 500 {
					b.Fatal(len(out), err)
				}
			}
		})
	}
	h := newHost(b, host.Config{})
	batch := loadSpec(b, h, allopsSpec(b), host.PluginConfig{Lane: host.LaneBatch, State: host.StateKeep})
	document := loadSpec(b, h, allopsSpec(b), host.PluginConfig{Lane: host.LaneJSON, State: host.StateKeep})
	wide := loadWide(b, h, host.LaneBatch)
	wideDocument := loadWide(b, h, host.LaneJSON)
	run("native", pipeline.FilterFunc(func(it *pipeline.Item) bool { return it.Score >= 0.5 }))
	run("batch/score", benchStep(b, batch, settings))
	run("batch/all", benchStep(b, wide, settings))
	run("json/score", benchStep(b, document, settings))
	run("json/all", benchStep(b, wideDocument, settings))
}

func benchStep(b *testing.B, p *host.Plugin, settings map[string]any) pipeline.Step {
	b.Helper()
	s, err := steps.New(p, abi.OpFilter, steps.Options{Settings: settings})
	if err != nil {
		b.Fatal(err)
	}
	return s
}

// loadWide loads the guest with a manifest that reads every column.
func loadWide(b *testing.B, h *host.Host, lane host.Lane) *host.Plugin {
	b.Helper()
	spec := allopsSpec(b)
	wide := *spec
	wide.Operations = slices.Clone(spec.Operations)
	for i := range wide.Operations {
		if wide.Operations[i].Operation == abi.OpFilter {
			wide.Operations[i].Reads = abi.AllColumns
		}
	}
	p, err := h.Load(context.Background(), &wide, host.PluginConfig{Lane: lane, State: host.StateKeep})
	if err != nil {
		b.Fatal(err)
	}
	return p
}
