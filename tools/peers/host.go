package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/pipeline/format"
)

const (
	numSteps = 6
	numItems = 50
	longList = 1000
	itemSize = 1 << 10
	// shortSize is about the length of a sentence. 1,000 items of 1 KB do not fit into a
	// window, so long lists are measured with short items.
	shortSize = 45
	query     = "how do contexts end?"
)

// retriever returns the same items each time.
type retriever struct{ items []pipeline.Item }

func (r *retriever) Retrieve(context.Context, *pipeline.Query, int) ([]pipeline.Item, error) {
	return r.items, nil
}

// newItems returns items of size bytes. Their texts begin with label, so that they differ from
// those with another label. With counted, they bring token counts.
func newItems(n, size int, label string, counted bool) []pipeline.Item {
	items := make([]pipeline.Item, n)
	for i := range items {
		items[i] = pipeline.Item{
			ID: fmt.Sprintf("doc-%d", i), Content: text(label, i, size), Source: pipeline.SourceRetrieval,
			Score: float64((i*7919)%1000) / 1000, Priority: 5,
			Metadata: map[string]any{"path": "a/b/c"}, CreatedAt: time.Unix(1_700_000_000, 0).UTC(),
		}
		if counted {
			items[i].TokenCount = max(1, size/4)
		}
	}
	return items
}

// text returns English words that depend on label and i.
func text(label string, i, size int) string {
	words := strings.Fields("the window of a model holds what retrieval found and memory kept so that an answer can rest on documents rather than on guesses")
	var b strings.Builder
	fmt.Fprintf(&b, "%s %d:", label, i)
	for n := i; b.Len() < size; n += 7 {
		b.WriteByte(' ')
		b.WriteString(words[(n+n/len(words))%len(words)])
	}
	return b.String()[:size]
}

// newPipeline returns a pipeline with a retriever of n items, six steps that do nothing, and
// room for all items.
func newPipeline(r *retriever, n int) (*pipeline.Pipeline, error) {
	cfg := pipeline.Config{
		MaxTokens: 1 << 20, Formatter: format.Anthropic{},
		SystemPrompts: []pipeline.SystemPrompt{{Content: "Answer from the documents."}},
		Steps:         []pipeline.StepConfig{{Name: "search", Step: pipeline.RetrieverStep(r, n), Priority: 10}},
	}
	for i := range numSteps {
		cfg.Steps = append(cfg.Steps, pipeline.StepConfig{Name: fmt.Sprintf("step-%d", i), Step: pipeline.StepFunc(nothing)})
	}
	return pipeline.New(cfg)
}

func nothing(_ context.Context, _ *pipeline.Query, items []pipeline.Item) ([]pipeline.Item, error) {
	return items, nil
}

// hostCases are the cases of anchor-host.
func hostCases() ([]benchCase, error) {
	var cases []benchCase
	for _, c := range []struct {
		key     string
		n, size int
		counted bool
		written bool
	}{
		{key50, numItems, itemSize, true, false},
		{key50JSON, numItems, itemSize, true, true},
		{key50Looked, numItems, itemSize, false, false},
		{key1000, longList, shortSize, true, false},
		{key1000Look, longList, shortSize, false, false},
		{key1000Long, longList, itemSize, true, false},
	} {
		p, err := newPipeline(&retriever{newItems(c.n, c.size, "document", c.counted)}, c.n)
		if err != nil {
			return nil, err
		}
		cases = append(cases, benchCase{key: c.key, run: buildWith(p, c.n, c.written)})
	}
	cold, err := coldCase()
	return append(cases, cold), err
}

// buildWith returns a function that builds once and checks that no item is lost.
func buildWith(p *pipeline.Pipeline, n int, written bool) func() error {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	return func() error {
		r, err := p.Build(context.Background(), pipeline.Query{Text: query})
		switch {
		case err != nil:
			return err
		case len(r.Window.Items) != n+1:
			return fmt.Errorf("window of %d items, want %d and the system prompt", len(r.Window.Items), n)
		case !written:
			return nil
		}
		out.Reset()
		return enc.Encode(r.Output)
	}
}

// coldCase builds from texts that are counted for the first time.
func coldCase() (benchCase, error) {
	r := &retriever{}
	p, err := newPipeline(r, numItems)
	if err != nil {
		return benchCase{}, err
	}
	var fresh [][]pipeline.Item
	lists, build := 0, buildWith(p, numItems, false)
	return benchCase{
		key: key50Cold,
		prepare: func(n int) {
			for len(fresh) < n {
				lists++
				fresh = append(fresh, newItems(numItems, itemSize, fmt.Sprintf("list %d document", lists), false))
			}
		},
		run: func() error {
			r.items, fresh = fresh[0], fresh[1:]
			return build()
		},
	}, nil
}
