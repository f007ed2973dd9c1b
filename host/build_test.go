package host_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/anchor-host/anchor-host/host"
	"github.com/anchor-host/anchor-host/pipeline"
)

var lanes = []host.Lane{host.LaneJSON, host.LaneBatch}

// docs is a native step that brings items for the guests to work on.
func docs(contents ...string) pipeline.StepConfig {
	return pipeline.StepConfig{Name: "docs", Priority: 10, Step: pipeline.StepFunc(
		func(_ context.Context, _ *pipeline.Query, items []pipeline.Item) ([]pipeline.Item, error) {
			for i, c := range contents {
				items = append(items, pipeline.Item{ID: string(rune('a' + i)), Content: c, Source: pipeline.SourceRetrieval,
					Score: float64(len(contents)-i) / 10, Priority: 5})
			}
			return items, nil
		})}
}

// build runs a build and returns its result without what differs from run to
// run.
func build(t *testing.T, cfg pipeline.Config, query string) *pipeline.Result {
	t.Helper()
	cfg.Tokenizer = pipeline.WordTokenizer()
	p, err := pipeline.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	r, err := p.Build(t.Context(), pipeline.Query{Text: query})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// window is the contents, ids, scores and metadata of a window, comparable.
func window(t *testing.T, r *pipeline.Result) string {
	t.Helper()
	var b strings.Builder
	enc := json.NewEncoder(&b)
	for _, it := range r.Window.Items {
		if err := enc.Encode([]any{it.ID, it.Content, it.Source, it.Score, it.Priority, it.TokenCount, it.Metadata}); err != nil {
			t.Fatal(err)
		}
	}
	return b.String()
}
