package pipeline

import (
	"context"
	"fmt"
	"testing"

	"github.com/anchor-host/anchor-host/pipeline/core"
	"github.com/anchor-host/anchor-host/pipeline/fill"
	"github.com/anchor-host/anchor-host/pipeline/format"
	"github.com/anchor-host/anchor-host/pipeline/internal/values"
)

// benchItems returns n scored documents whose tokens are counted.
func benchItems(n int) []Item {
	items := make([]Item, n)
	for i := range items {
		items[i] = Item{
			ID: fmt.Sprintf("doc-%d", i), Content: fmt.Sprintf("document %d says something about contexts", i),
			Source: SourceRetrieval, Score: float64((i*7919)%1000) / 1000, Priority: 5, TokenCount: 7,
			Metadata: map[string]any{"path": "a/b/c"}, CreatedAt: seedEpoch,
		}
	}
	return items
}

type fixedRetriever []Item

func (f fixedRetriever) Retrieve(context.Context, *Query, int) ([]Item, error) { return f, nil }

// benchPipeline has a retriever and six steps that do nothing.
func benchPipeline(b *testing.B, n int, counted bool, maxTokens int) *Pipeline {
	items, tokenizer := benchItems(n), WordTokenizer()
	if !counted {
		tokenizer = nil
		for i := range items {
			items[i].TokenCount = 0
		}
	}
	cfg := Config{MaxTokens: maxTokens, Tokenizer: tokenizer, Formatter: format.Anthropic{}, SystemPrompts: []SystemPrompt{{Content: "Answer from the documents."}}}
	cfg.Steps = append(cfg.Steps, StepConfig{Name: "search", Step: RetrieverStep(fixedRetriever(items), n), Priority: 10})
	for i := range 6 {
		cfg.Steps = append(cfg.Steps, StepConfig{Name: fmt.Sprintf("step-%d", i), Step: StepFunc(
			func(_ context.Context, _ *Query, items []Item) ([]Item, error) { return items, nil })})
	}
	p, err := New(cfg)
	if err != nil {
		b.Fatal(err)
	}
	if _, err := p.Build(b.Context(), Query{Text: "q"}); err != nil {
		b.Fatal(err)
	}
	return p
}

// BenchmarkBuild answers what the pipeline itself costs: one retriever, six steps that
// do nothing, the window and the Anthropic format. "counted" items bring their token
// counts; "overflow" has room for half of them; "cached" ones are looked up in the
// memory of cl100k_base, whose vocabulary the garbage collector then also visits.
func BenchmarkBuild(b *testing.B) {
	for _, n := range []int{50, 1000} {
		for _, mode := range []struct {
			name      string
			counted   bool
			maxTokens int
		}{{"counted", true, 8 * n}, {"overflow", true, 7 * n / 2}, {"cached", false, 16 * n}} {
			b.Run(fmt.Sprintf("%d/%s", n, mode.name), func(b *testing.B) {
				p := benchPipeline(b, n, mode.counted, mode.maxTokens)
				b.ReportAllocs()
				for b.Loop() {
					if _, err := p.Build(context.Background(), Query{Text: "how do contexts end?"}); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

// BenchmarkSort answers what the order of the window costs.
func BenchmarkSort(b *testing.B) {
	for _, n := range []int{50, 1000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			items := benchItems(n)
			for b.Loop() {
				core.SortByPriority(items, values.Indices(n))
			}
		})
	}
}

// BenchmarkBudget answers what a preset costs that must leave half of the items out.
func BenchmarkBudget(b *testing.B) {
	for _, n := range []int{50, 1000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			items := benchItems(n)
			for i := range items {
				items[i].Source = Sources[i%core.NumSources]
			}
			budget, err := fill.PresetBudget("rag", 7*n/2)
			if err != nil {
				b.Fatal(err)
			}
			p := mustPipeline(b, Config{
				MaxTokens: 7 * n / 2, Tokenizer: WordTokenizer(), Budget: budget,
				Steps: []StepConfig{{Name: "search", Step: RetrieverStep(fixedRetriever(items), n)}},
			})
			b.ReportAllocs()
			for b.Loop() {
				if _, err := p.Build(context.Background(), Query{Text: "how do contexts end?"}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
