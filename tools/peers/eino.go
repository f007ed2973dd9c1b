package main

import (
	"context"
	"fmt"

	"github.com/cloudwego/eino/compose"
	"github.com/cloudwego/eino/schema"
)

// einoCase is a compiled chain of six lambdas over documents.
func einoCase(ctx context.Context) (benchCase, error) {
	docs := make([]*schema.Document, numItems)
	for i := range docs {
		docs[i] = &schema.Document{ID: fmt.Sprintf("doc-%d", i), Content: text("document", i, itemSize), MetaData: map[string]any{"path": "a/b/c"}}
	}
	chain := compose.NewChain[[]*schema.Document, []*schema.Document]()
	for range numSteps {
		chain.AppendLambda(compose.InvokableLambda(func(_ context.Context, docs []*schema.Document) ([]*schema.Document, error) {
			return docs, nil
		}))
	}
	compiled, err := chain.Compile(ctx)
	if err != nil {
		return benchCase{}, fmt.Errorf("eino: compile chain: %w", err)
	}
	return benchCase{key: keyEino, run: func() error {
		out, err := compiled.Invoke(ctx, docs)
		if err == nil && len(out) != numItems {
			err = fmt.Errorf("%d documents, want %d", len(out), numItems)
		}
		return err
	}}, nil
}
