package main

import (
	"context"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/anchor-host/anchor-host/anchor"
	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/pipeline/message"
	"github.com/anchor-host/anchor-host/tools/messages/judge"
)

// The APIs take the bodies of windows whose items name their sources, and each source is in it.
func TestCitedBodies(t *testing.T) {
	path := emptyConfig(t)
	if err := os.WriteFile(path, []byte("counting: {model: claude-sonnet-4-5}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	app, err := anchor.Load(path, anchor.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = app.Close(context.Background()) })
	items := []pipeline.Item{
		{ID: "a", Source: pipeline.SourceRetrieval, Priority: 5, Content: "Aphids hate soap.", Metadata: map[string]any{"path": "docs/roses.pdf", "heading": "Care", "page": int64(3)}},
		{ID: "b", Source: pipeline.SourceRetrieval, Priority: 5, Content: "No source.", Metadata: map[string]any{}},
	}
	for _, form := range message.Forms {
		for _, cite := range []string{"text", "native"} {
			for _, caching := range []bool{false, form == message.FormAnthropic} {
				r, err := app.Build(t.Context(), pipeline.Query{Text: "What do aphids hate?"}, anchor.BuildOptions{
					Items: items, Format: string(form), FormatOptions: &anchor.FormatOptions{Cite: cite, Caching: caching},
				})
				if err != nil {
					t.Fatal(err)
				}
				body, err := json.Marshal(r.Output)
				if err != nil {
					t.Fatal(err)
				}
				if err := judge.Accept(string(form), body); err != nil {
					t.Errorf("%s, %s: %v\n%s", form, cite, err, body)
				}
				native := form == message.FormAnthropic && cite == "native"
				if text := string(body); !strings.Contains(text, "docs/roses.pdf") || !strings.Contains(text, "Care, page 3") || strings.Contains(text, "search_result") != native {
					t.Errorf("%s, %s: %s", form, cite, text)
				}
			}
		}
	}
}
