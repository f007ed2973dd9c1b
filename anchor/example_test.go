package anchor_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/anchor-host/anchor-host/anchor"
	"github.com/anchor-host/anchor-host/anchor/component"
	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/store"
)

func Example() {
	dir, err := os.MkdirTemp("", "anchor")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "anchor.yaml")
	yaml := "window: {max_tokens: 100, system_prompts: [{content: Be brief.}]}\ncounting: {tokenizer: words}\n"
	if err := os.WriteFile(file, []byte(yaml), 0o600); err != nil {
		log.Fatal(err)
	}

	ctx := context.Background()
	app, err := anchor.Load(file, anchor.Options{Store: store.NewMemory()})
	if err != nil {
		log.Fatal(err)
	}
	defer app.Close(ctx)
	for _, query := range []string{"Where do we meet?", "And when?"} {
		result, err := app.Build(ctx, pipeline.Query{Text: query}, anchor.BuildOptions{
			Tenant: "acme", Conversation: "chat-7", Remember: true,
		})
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(len(result.Window.Items), "items,", result.Window.UsedTokens, "tokens")
	}
	// Output:
	// 1 items, 2 tokens
	// 2 items, 6 tokens
}

// wiki finds pages of one language.
type wiki struct{ Language string }

func newWiki(_ context.Context, s component.Settings) (pipeline.Retriever, error) {
	w := new(wiki)
	return w, s.Decode(w)
}

func (w *wiki) Retrieve(_ context.Context, q *pipeline.Query, _ int) ([]pipeline.Item, error) {
	return []pipeline.Item{{ID: "wiki:1", Content: "What " + w.Language + " says of " + q.Text, Score: 0.9}}, nil
}

func ExampleComponents() {
	const configuration = `
counting: {tokenizer: words}
steps:
  - {name: find, use: wiki, settings: {language: en}, timeout: 2s, must: true}
`
	ctx := context.Background()
	app, err := anchor.LoadBytes([]byte(configuration), "", anchor.Options{Components: anchor.Components{
		Retrievers: map[string]component.Maker[pipeline.Retriever]{"wiki": {New: newWiki}},
	}})
	if err != nil {
		log.Fatal(err)
	}
	defer app.Close(ctx)
	result, err := app.Build(ctx, pipeline.Query{Text: "otters"}, anchor.BuildOptions{})
	if err != nil {
		log.Fatal(err)
	}
	for _, item := range result.Window.Items {
		fmt.Println(item.ID, item.Content)
	}
	// Output:
	// wiki:1 What en says of otters
}
