package anchor_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/anchor-host/anchor-host/anchor"
	"github.com/anchor-host/anchor-host/pipeline"
)

// What a format writes of sources counts in the window, also for items that bring a count, and for those that
// are cut.
func TestSourcesCountInTheWindow(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "anchor.yaml")
	if err := os.WriteFile(path, []byte("timeout: 30s\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	app, err := anchor.Load(path, anchor.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = app.Close(context.Background()) })
	for _, cite := range []string{"text", "native"} {
		for _, content := range []string{"Aphids hate soap.", strings.Repeat("Aphids hate soap. ", 400)} {
			var items []pipeline.Item
			for i := range 40 {
				items = append(items, pipeline.Item{
					ID: fmt.Sprint(i), Source: pipeline.SourceRetrieval, Content: content, TokenCount: i % 2, Priority: 5,
					Metadata: map[string]any{"path": strings.Repeat("path/", 56), "title": strings.Repeat("title ", 40)},
				})
			}
			r, err := app.Build(t.Context(), pipeline.Query{Text: "soap?"}, anchor.BuildOptions{
				Items: items, Format: "anthropic", MaxTokens: 1000, Truncate: "sentence", FormatOptions: &anchor.FormatOptions{Cite: cite},
			})
			if err != nil {
				t.Fatal(err)
			}
			body, err := json.Marshal(r.Output)
			if n := len(r.Window.Items); err != nil || n == 0 || n == len(items) || len(body) > 6*1000 {
				t.Errorf("%s: %v, %d items, %d bytes in 1000 tokens", cite, err, n, len(body))
			}
		}
	}
}
