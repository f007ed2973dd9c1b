package anchor_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/anchor-host/anchor-host/anchor"
	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/pipeline/store"
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
