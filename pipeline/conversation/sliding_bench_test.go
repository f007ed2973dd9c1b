package conversation

import (
	"context"
	"fmt"
	"testing"

	"github.com/anchor-host/anchor-host/pipeline"
)

// BenchmarkConversationItems answers what a full conversation costs a build: 200 turns
// whose tokens are counted.
func BenchmarkConversationItems(b *testing.B) {
	s, err := NewSlidingWindow(SlidingWindowConfig{MaxTokens: 1 << 20, Tokenizer: pipeline.WordTokenizer()})
	if err != nil {
		b.Fatal(err)
	}
	for i := range 200 {
		if err := s.AddTurn(b.Context(), pipeline.Turn{Role: []pipeline.Role{pipeline.RoleUser, pipeline.RoleAssistant}[i%2], Content: fmt.Sprintf("turn %d says something about contexts", i), Metadata: map[string]any{"channel": "web"}}); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportAllocs()
	for b.Loop() {
		if items, err := s.Items(context.Background(), nil); err != nil || len(items) != 200 {
			b.Fatal(len(items), err)
		}
	}
}

// BenchmarkConversationAppend answers what a turn costs when the conversation is one
// million turns long, by what the window holds and how turns leave it.
func BenchmarkConversationAppend(b *testing.B) {
	for _, mode := range []struct {
		name      string
		maxTokens int
		eviction  EvictionPolicy
	}{{"window", 4000, nil}, {"everything", 1 << 40, nil}, {"pairs", 4000, EvictPairs}} {
		for _, n := range []int{1_000, 100_000, 1_000_000} {
			if testing.Short() && n > 1_000 {
				continue
			}
			b.Run(fmt.Sprintf("%s/%d", mode.name, n), func(b *testing.B) {
				for b.Loop() {
					s, err := NewSlidingWindow(SlidingWindowConfig{MaxTokens: mode.maxTokens, Tokenizer: pipeline.WordTokenizer(), Eviction: mode.eviction})
					if err != nil {
						b.Fatal(err)
					}
					for range n {
						if err := s.Add(context.Background(), pipeline.RoleUser, "what is it that this turn has to say about contexts and their ends"); err != nil {
							b.Fatal(err)
						}
					}
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/turn")
			})
		}
	}
}
