package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/host"
	"github.com/anchor-host/anchor-host/host/steps"
	"github.com/anchor-host/anchor-host/pipeline"
)

// stepRows run the example plugin score-filter as a build does. There are 1,000 items. The
// plugin reads only their scores and keeps half of them.
func (s *suite) stepRows() []row {
	waits := func(state host.State, gate, stretch float64) row {
		return row{
			name: "filter/" + string(state), what: "score filter, 1,000 items, whole step, waited", state: state, lane: laneBatch,
			target: atMost(microseconds, gate, stretch),
			run: func(ctx context.Context) (reading, error) {
				step, err := s.filterSide(ctx, state)
				if err != nil {
					return reading{}, err
				}
				t, err := s.waited(ctx, resetPause, step)
				if err != nil {
					return reading{}, err
				}
				return reading{value: float64(t[0].median.Nanoseconds()) / 1e3, detail: "least " + duration(t[0].least)}, nil
			},
		}
	}
	return []row{waits(host.StateKeep, 40, 25), waits(host.StateReset, 60, 30)}
}

// filterSide runs the step.
func (s *suite) filterSide(ctx context.Context, state host.State) (side, error) {
	step, err := s.filterStep(ctx, state)
	if err != nil {
		return side{}, err
	}
	return side{"score-filter", filterBuild(ctx, step)}, nil
}

// listWriter is a step to which a build lends the memory of a list.
type listWriter interface {
	RunInto(ctx context.Context, q *pipeline.Query, items, spare []pipeline.Item) ([]pipeline.Item, error)
}

// filterStep loads the plugin.
func (s *suite) filterStep(ctx context.Context, state host.State) (listWriter, error) {
	const pkg = "plugins/examples/score-filter"
	wasm, manifest, err := s.guests.plugin(ctx, pkg)
	if err != nil {
		return nil, err
	}
	p, err := s.load(ctx, "score-filter", wasm, manifest, host.PluginConfig{State: state, Lane: host.LaneBatch})
	if err != nil {
		return nil, err
	}
	step, err := steps.New(p.Plugin, abi.OpFilter, steps.Options{Settings: map[string]any{"min_score": 0.5}})
	if err != nil {
		return nil, err
	}
	writer, ok := step.(listWriter)
	if !ok {
		return nil, fmt.Errorf("a filter of a plugin is no list writer")
	}
	return writer, nil
}

// filterBuild runs the step as a build does: with its own items, and lending the memory of a
// list. It checks the number of items that stay. Only one caller at a time may use it.
func filterBuild(ctx context.Context, step listWriter) func() error {
	items, query := manyItems(1000), &pipeline.Query{Text: "how do I parse flags"}
	list := make([]pipeline.Item, 0, len(items))
	return func() error {
		out, err := step.RunInto(ctx, query, items, list)
		if err == nil && (len(out) != 500 || out[0].Score < 0.5) {
			err = fmt.Errorf("%d items stay, want 500", len(out))
		}
		return err
	}
}

// manyItems returns n items as a retriever returns them. Half of them have a score of 0.5 or
// more.
func manyItems(n int) []pipeline.Item {
	items := make([]pipeline.Item, n)
	content := strings.Repeat("the quick brown fox jumps over it ", 15)[:500]
	for i := range items {
		items[i] = pipeline.Item{
			ID: fmt.Sprintf("doc-%d", i), Content: content, Source: pipeline.SourceRetrieval, Score: float64(i%100) / 100,
			Priority: 5, TokenCount: 120, CreatedAt: time.Unix(1_700_000_000, 0),
			Metadata: map[string]any{"path": "docs/a.md", "title": "A title", "lang": "en", "section": "intro"},
		}
	}
	return items
}
