package pipeline

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/anchor-host/anchor-host/pipeline/format"
)

// loadedStep does what a step that runs a plugin does at the least: it writes the items
// into a buffer as the guest would read them, reads them, and makes a new list.
type loadedStep struct {
	buffer []byte
	change func(items []Item) []Item
}

func (*loadedStep) Isolated() {}

func (s *loadedStep) Run(_ context.Context, _ *Query, items []Item) ([]Item, error) {
	out := s.buffer[:0]
	for i := range items {
		it := &items[i]
		out = binary.LittleEndian.AppendUint64(out, math.Float64bits(it.Score))
		for _, text := range []string{it.ID, it.Content} {
			out = append(binary.LittleEndian.AppendUint32(out, uint32(len(text))), text...)
		}
	}
	s.buffer = out
	words := 0
	for _, c := range out {
		if c == ' ' {
			words++
		}
	}
	if words == 0 && len(items) > 0 {
		return nil, fmt.Errorf("no words in %d bytes", len(out))
	}
	return s.change(append([]Item(nil), items...)), nil
}

// tracePipeline has a retriever of n items of 1 KB and six steps.
func tracePipeline(b *testing.B, n int, explained bool, step func(i int) Step) *Pipeline {
	items := benchItems(n)
	for i := range items {
		items[i].Content = strings.Repeat("the quick brown fox jumps over it ", 30)
		items[i].TokenCount = 240
	}
	cfg := Config{MaxTokens: 250 * n, Tokenizer: WordTokenizer(), Formatter: format.Anthropic{}, Explain: explained,
		SystemPrompts: []SystemPrompt{{Content: "Answer from the documents."}}}
	cfg.Steps = append(cfg.Steps, StepConfig{Name: "search", Step: RetrieverStep(fixedRetriever(items), n), Priority: 10})
	for i := range 6 {
		cfg.Steps = append(cfg.Steps, StepConfig{Name: fmt.Sprintf("step-%d", i), Step: step(i)})
	}
	p, err := New(cfg)
	if err != nil {
		b.Fatal(err)
	}
	return p
}

// workingStep returns the i-th of six steps as plugins make them: two filters, two that
// rescore, one that reorders, one that rewrites.
func workingStep(i int) Step {
	return &loadedStep{change: func(items []Item) []Item {
		switch i {
		case 0, 3:
			return items[:len(items)-len(items)/20]
		case 1, 4:
			for j := range items {
				items[j].Score = float64((j*31+i)%97) / 97
			}
		case 2:
			for j := range len(items) / 2 {
				items[j], items[len(items)-1-j] = items[len(items)-1-j], items[j]
			}
		case 5:
			for j := range items {
				items[j].Metadata = map[string]any{"seen": true}
			}
		}
		return items
	}}
}

// BenchmarkExplain answers what recording costs: a build with six native steps that do
// nothing, with six isolated ones that return the list they were given, and with six
// that do the least that a plugin does.
func BenchmarkExplain(b *testing.B) {
	noop := func(items []Item) []Item { return items }
	for _, n := range []int{50, 1000} {
		for _, kind := range []struct {
			name string
			step func(i int) Step
		}{
			{"noop", func(int) Step { return native(noop) }},
			{"isolated", func(int) Step { return pluginStep{"p", noop} }},
			{"working", workingStep},
		} {
			for _, explain := range []bool{false, true} {
				b.Run(fmt.Sprintf("%d/%s/explain=%v", n, kind.name, explain), func(b *testing.B) {
					p := tracePipeline(b, n, explain, kind.step)
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
