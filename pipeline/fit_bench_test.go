package pipeline

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/anchor-host/anchor-host/pipeline/fill"
	"github.com/anchor-host/anchor-host/pipeline/format"
)

// BenchmarkExactFit answers what it costs to count the formatted output instead of the
// items, counts of items cached: with room for all, and with room for half, where each
// of the others must be found not to fit. "short" items are of some ten tokens, so that
// none is hopeless for long; "long" ones of some hundred.
func BenchmarkExactFit(b *testing.B) {
	for _, n := range []int{50, 1000} {
		for _, size := range []struct {
			name   string
			repeat int
			tokens int
		}{{"short", 1, 12}, {"long", 14, 110}} {
			for _, room := range []struct {
				name      string
				maxTokens int
			}{{"all", 2 * n * size.tokens}, {"half", n * size.tokens / 2}} {
				b.Run(fmt.Sprintf("%d/%s/%s", n, size.name, room.name), func(b *testing.B) {
					items := benchItems(n)
					for i := range items {
						items[i].Content, items[i].TokenCount = strings.Repeat(items[i].Content+". ", size.repeat), 0
					}
					tokenizer, err := EncodingTokenizer("o200k_base")
					if err != nil {
						b.Fatal(err)
					}
					p := mustPipeline(b, Config{
						MaxTokens: room.maxTokens, Tokenizer: tokenizer, Formatter: format.Anthropic{}, Fit: fill.FitExact,
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
	}
}
