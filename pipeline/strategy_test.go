package pipeline

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/anchor-host/anchor-host/pipeline/fill"
)

// badStrategy returns the given answer.
type badStrategy struct {
	order []int32
	err   error
}

func (badStrategy) Name() string { return "bad" }

func (s badStrategy) Order(context.Context, []fill.Candidate, int) ([]int32, string, error) {
	if s.err != nil && s.err.Error() == "panic" {
		panic(s.err)
	}
	return s.order, "", s.err
}

func TestStrategiesAreChecked(t *testing.T) {
	items := benchItems(3)
	for _, s := range []badStrategy{{order: []int32{0, 1}}, {order: []int32{0, 1, 1}}, {order: []int32{0, 1, 3}}, {order: []int32{0, 1, -1}}, {err: errors.New("no")}, {err: errors.New("panic")}} {
		p := mustPipeline(t, Config{Tokenizer: WordTokenizer(), Fill: s, Steps: []StepConfig{{Name: "s", Step: RetrieverStep(fixedRetriever(items), 5)}}})
		if _, err := p.Build(t.Context(), Query{Text: "q"}); err == nil || !strings.Contains(err.Error(), `strategy "bad"`) {
			t.Errorf("%+v: %v", s, err)
		}
	}
}

func mustPipeline(t testing.TB, cfg Config) *Pipeline {
	t.Helper()
	p, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func Example_knapsack() {
	items := []Item{
		{ID: "long", Content: "a b c d e f", Source: SourceRetrieval, Priority: 5, Score: 0.6},
		{ID: "one", Content: "a b c d e", Source: SourceRetrieval, Priority: 5, Score: 0.5},
		{ID: "two", Content: "a b c d e", Source: SourceRetrieval, Priority: 5, Score: 0.4},
	}
	for _, s := range []fill.Strategy{fill.FirstFit{}, fill.Knapsack{}} {
		p, err := New(Config{
			MaxTokens: 10, Tokenizer: WordTokenizer(), Fill: s,
			Steps: []StepConfig{{Name: "search", Step: RetrieverStep(fixedRetriever(items), 5)}},
		})
		if err != nil {
			fmt.Println(err)
			return
		}
		r, err := p.Build(context.Background(), Query{Text: "q"})
		if err != nil {
			fmt.Println(err)
			return
		}
		for _, it := range r.Window.Items {
			fmt.Print(it.ID, " ")
		}
		fmt.Println(r.Diagnostics.Fill.Strategy, r.Diagnostics.Fill.Gap)
	}
	// Output:
	// long first_fit 0.4092
	// one two knapsack 0.0677
}

// strategies are the built-in ones.
func strategies() []fill.Strategy {
	return []fill.Strategy{fill.FirstFit{}, fill.ValuePerToken{}, fill.Knapsack{}}
}
