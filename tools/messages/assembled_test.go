package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/anchor-host/anchor-host/anchor"
	"github.com/anchor-host/anchor-host/pipeline/message"
	"github.com/anchor-host/anchor-host/tools/messages/judge"
)

// TestAssembled passes each history through assemble, with and without compaction. The API takes
// what comes out, sealed parts are as they were, the budget holds, and the tokens that assemble
// states are those that it counts when it reads its output. A body that fits is the same bytes.
func TestAssembled(t *testing.T) {
	for name, config := range map[string]string{"compacted": "{}", "truncated": "agent: {compaction: {enabled: false}}"} {
		path := filepath.Join(t.TempDir(), "anchor.yaml")
		if err := os.WriteFile(path, []byte(config+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		app, err := anchor.Load(path, anchor.Options{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = app.Close(context.Background()) })
		t.Run(name, func(t *testing.T) {
			shortened, n := 0, 0
			for _, form := range message.Forms {
				eachHistory(t, form, func(t *testing.T, body []byte) {
					n++
					if checkAssembled(t, app, form, body, []int{2, 4, 10, 1_000_000}[n%4], name == "compacted") {
						shortened++
					}
				})
			}
			if shortened < n/2 {
				t.Errorf("%d outputs are shorter than their histories", shortened)
			}
		})
	}
}

// checkAssembled assembles a body for the given part of its tokens, and reports whether that took
// anything away.
func checkAssembled(t *testing.T, app *anchor.App, form message.Form, body []byte, part int, compacted bool) bool {
	t.Helper()
	assemble := func(body []byte, budget int) *anchor.AssembledBody {
		out, err := app.AssembleBody(t.Context(), body, anchor.BodyOptions{AssembleOptions: anchor.AssembleOptions{MaxTokens: budget}})
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	whole := assemble(body, 1<<30)
	if !bytes.Equal(whole.Body, body) {
		t.Error("a body that fits has changed")
	}
	budget := whole.Diagnostics.ToolTokens + *whole.Diagnostics.After.Tokens/part
	out := assemble(body, budget)
	if err := judge.Accept(string(form), out.Body); err != nil {
		t.Errorf("1/%d: %v\n%s", part, err, out.Body)
	}
	if err := judge.Unchanged(string(form), body, out.Body); err != nil && !compacted { // a summary can be an instruction
		t.Errorf("1/%d: %v", part, err)
	}
	d := out.Diagnostics
	took := *d.After.Tokens
	if n := *assemble(out.Body, 1<<30).Diagnostics.After.Tokens; n != took {
		t.Errorf("1/%d: %d tokens stated, %d counted", part, took, n)
	}
	if over := max(0, took+d.ToolTokens-budget); over != d.TokensOver {
		t.Errorf("1/%d: over by %d, stated %d", part, over, d.TokensOver)
	}
	return !bytes.Equal(out.Body, body)
}
