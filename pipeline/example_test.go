package pipeline_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/pipeline/conversation"
	"github.com/anchor-host/anchor-host/pipeline/core"
	"github.com/anchor-host/anchor-host/pipeline/fill"
	"github.com/anchor-host/anchor-host/pipeline/format"
)

// library is a retriever over a handful of sentences.
type library []string

func (l library) Retrieve(_ context.Context, q *pipeline.Query, topK int) ([]pipeline.Item, error) {
	var found []pipeline.Item
	for i, text := range l {
		if len(found) < topK && strings.Contains(text, q.Text) {
			found = append(found, pipeline.Item{ID: fmt.Sprintf("doc-%d", i), Content: text, Score: 1 / float64(i+1)})
		}
	}
	return found, nil
}

func Example() {
	index := library{
		"A context carries a deadline.",
		"A file has a name.",
		"When a context ends, its children end as well.",
		"Every context descends from the background context, which never ends.",
	}
	p, err := pipeline.New(pipeline.Config{
		MaxTokens:     20,
		Tokenizer:     pipeline.WordTokenizer(),
		SystemPrompts: []pipeline.SystemPrompt{{Content: "Answer from the documents."}},
		Steps:         []pipeline.StepConfig{{Name: "search", Step: pipeline.RetrieverStep(index, 10)}},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	r, err := p.Build(context.Background(), pipeline.Query{Text: "context"})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(r.Output)
	fmt.Println()
	for _, o := range r.Overflow {
		fmt.Printf("%s: %s, %d tokens and %d left\n", o.ID, o.Reason, o.TokenCount, o.Available)
	}
	// Output:
	// === SYSTEM ===
	// Answer from the documents.
	//
	// === CONTEXT ===
	// A context carries a deadline.
	// When a context ends, its children end as well.
	//
	// doc-3: window_full, 10 tokens and 2 left
}

func ExampleBuildError() {
	p, err := pipeline.New(pipeline.Config{
		Logger: slog.New(slog.DiscardHandler),
		Steps: []pipeline.StepConfig{
			{Name: "maybe", OnError: pipeline.Skip, Step: pipeline.StepFunc(
				func(context.Context, *pipeline.Query, []pipeline.Item) ([]pipeline.Item, error) { panic("oops") })},
			{Name: "slow", Timeout: time.Millisecond, Step: pipeline.StepFunc(
				func(ctx context.Context, _ *pipeline.Query, _ []pipeline.Item) ([]pipeline.Item, error) {
					<-ctx.Done()
					return nil, ctx.Err()
				})},
		},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = p.Build(context.Background(), pipeline.Query{Text: "q"})
	var failed *pipeline.BuildError
	if errors.As(err, &failed) {
		fmt.Println("failed:", failed.Step, errors.Is(err, context.DeadlineExceeded))
		for _, f := range failed.Diagnostics.StepFailures {
			fmt.Println(f.Step, f.Reason)
		}
	}
	// Output:
	// failed: slow true
	// maybe panic
	// slow timeout
}

func ExampleWindow() {
	w, err := core.NewWindow(25)
	if err != nil {
		fmt.Println(err)
		return
	}
	overflow := w.AddItemsByPriority([]pipeline.Item{
		{ID: "note", Priority: 1, TokenCount: 10},
		{ID: "prompt", Priority: 10, TokenCount: 10},
		{ID: "fact", Priority: 5, TokenCount: 10},
	})
	fmt.Println(w.Items[0].ID, w.Items[1].ID, w.Remaining(), w.Utilization())
	fmt.Println(overflow[0].ID)
	// Output:
	// prompt fact 5 0.8
	// note
}

func ExamplePresetBudget() {
	b, err := fill.PresetBudget("rag", 8192)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, a := range b.Allocations {
		fmt.Println(a.Source, "at least", a.MinTokens)
	}
	fmt.Println("reserve", b.ReserveTokens)
	fmt.Println("shared", b.SharedPool())
	// Output:
	// system at least 819
	// memory at least 409
	// conversation at least 819
	// retrieval at least 3276
	// reserve 1228
	// shared 1641
}

func ExampleFuse() {
	fused, err := pipeline.Fuse([][]pipeline.Item{{{ID: "a"}, {ID: "b"}}, {{ID: "c"}, {ID: "a"}}}, pipeline.FuseOptions{})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, it := range fused {
		fmt.Printf("%s %.4f\n", it.ID, it.Score)
	}
	// Output:
	// a 1.0000
	// c 0.0161
	// b 0.0000
}

func ExampleScope() {
	lengthFirst := pipeline.FilterFunc(func(it *pipeline.Item) bool { return len(it.Content) > 5 })
	items := []pipeline.Item{
		{Content: "Hi.", Source: pipeline.SourceSystem},
		{Content: "short", Source: pipeline.SourceRetrieval},
		{Content: "long enough", Source: pipeline.SourceRetrieval},
	}
	out, err := pipeline.Scope(lengthFirst, pipeline.ContextSources...).Run(context.Background(), &pipeline.Query{}, items)
	for _, it := range out {
		fmt.Println(it.Content)
	}
	fmt.Println(err)
	// Output:
	// Hi.
	// long enough
	// <nil>
}

func ExampleAnthropic() {
	w := &pipeline.Window{Items: []pipeline.Item{
		{Content: "Be brief.", Source: pipeline.SourceSystem},
		{Content: "Water boils at 100 °C.", Source: pipeline.SourceRetrieval},
		{Content: "When does water boil?", Source: pipeline.SourceConversation, Metadata: map[string]any{"role": "user"}},
	}}
	out, err := format.Anthropic{Caching: true}.Format(context.Background(), w)
	if err != nil {
		fmt.Println(err)
		return
	}
	enc := json.NewEncoder(os.Stdout)
	enc.SetIndent("", " ")
	if err := enc.Encode(out); err != nil {
		fmt.Println(err)
	}
	// Output:
	// {
	//  "system": [
	//   {
	//    "type": "text",
	//    "text": "Be brief.",
	//    "cache_control": {
	//     "type": "ephemeral"
	//    }
	//   }
	//  ],
	//  "messages": [
	//   {
	//    "role": "user",
	//    "content": [
	//     {
	//      "type": "text",
	//      "text": "Here is relevant context:\n\nWater boils at 100 °C.",
	//      "cache_control": {
	//       "type": "ephemeral"
	//      }
	//     },
	//     {
	//      "type": "text",
	//      "text": "When does water boil?"
	//     }
	//    ]
	//   }
	//  ]
	// }
}

// condenser keeps the first word of each turn.
type condenser struct{}

func (condenser) Compact(_ context.Context, turns []pipeline.Turn, previous string) (string, error) {
	for _, t := range turns {
		word, _, _ := strings.Cut(t.Content, " ")
		previous = strings.TrimSpace(previous + " " + word)
	}
	return previous, nil
}

func ExampleSlidingWindow() {
	ctx := context.Background()
	chat, err := conversation.NewSlidingWindow(conversation.SlidingWindowConfig{
		MaxTokens: 4, HighWater: 4, LowWater: 4, Tokenizer: pipeline.WordTokenizer(), Compactor: condenser{},
		CompactInline: true, // otherwise the summary comes later
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, text := range []string{"tea please", "coffee too", "and cake"} {
		if err := chat.Add(ctx, pipeline.RoleUser, text); err != nil {
			fmt.Println(err)
		}
	}
	items, err := chat.Items(ctx, nil)
	for _, it := range items {
		fmt.Printf("%s %q %v\n", it.ID, it.Content, it.Score)
	}
	fmt.Println(err)
	// Output:
	// summary-1 "tea" 0.5
	// turn-2 "coffee too" 0.5
	// turn-3 "and cake" 1
	// <nil>
}

func ExampleTemplateEnricher() {
	text, err := pipeline.TemplateEnricher{Template: "{query} (said before: {context})"}.Enrich(context.Background(),
		"and the second?", []pipeline.Item{{Content: "name two planets"}})
	fmt.Println(text, err)
	// Output:
	// and the second? (said before: name two planets) <nil>
}

func ExampleEncodingTokenizer() {
	t, err := pipeline.EncodingTokenizer("cl100k_base")
	if err != nil {
		fmt.Println(err)
		return
	}
	counts, err := t.Count(context.Background(), "hello world", "")
	fmt.Println(counts, err)
	cut, err := t.Truncate(context.Background(), "The quick brown fox jumps.", 3)
	fmt.Printf("%q %v\n", cut, err)
	// Output:
	// [2 0] <nil>
	// "The quick brown" <nil>
}
