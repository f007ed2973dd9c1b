package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/anchor-host/anchor-host/anchor"
	"github.com/anchor-host/anchor-host/internal/testkit/msgtest"
	"github.com/anchor-host/anchor-host/pipeline/message"
	"github.com/anchor-host/anchor-host/tools/messages/judge"
)

// TestAssembled passes each history through assemble, with and without compaction. The API takes
// what comes out, sealed parts are as they were, the budget holds, and the tokens that assemble
// states are those that it counts when it reads its output. A body that fits is the same bytes.
func TestAssembled(t *testing.T) {
	for name, config := range map[string]string{"compacted": "{}", "truncated": "agent: {compaction: {enabled: false}}"} {
		path := emptyConfig(t)
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

// TestBudgetIsUsed assembles 100 histories of each form for ten budgets. Where something is left
// out, at least 95 % of the budget is used, and no API refuses what is left. Less is used where
// nothing is left that fits: the digest says all that was left out, in fewer tokens, or what was
// left out is an image, a document or sealed reasoning, which cannot be cut.
func TestBudgetIsUsed(t *testing.T) {
	seeds := uint64(100)
	if testing.Short() {
		seeds = 10
	}
	app, err := anchor.Load(emptyConfig(t), anchor.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = app.Close(context.Background()) })
	for _, form := range []message.Form{message.FormOpenAI, message.FormAnthropic, message.FormResponses} {
		var text, other use
		for seed := range seeds {
			body := msgtest.Body(msgtest.Options{Form: string(form), Seed: 1000 + seed, Messages: 20 + int(seed)*2, Simple: seed%3 > 0, Loop: seed%5 == 2})
			if onlyText(t, body, form) {
				text.of(t, app, form, seed, body)
			} else {
				other.of(t, app, form, seed, body)
			}
		}
		t.Logf("%s, text: %s", form, text.String())
		t.Logf("%s, text and media: %s", form, other.String())
		if all := text.left + other.left; all < int(seeds)*9 || text.below > 1+text.left/50 || text.left > 0 && text.least < 0.9 || text.sum+other.sum < 0.98*float64(all) {
			t.Errorf("%s: less than 95 %% of a budget is used", form)
		}
	}
}

// onlyText reports whether everything in a body can be cut or written in a line of a digest.
func onlyText(t *testing.T, body []byte, form message.Form) bool {
	t.Helper()
	b, err := message.DecodeBody(body, form)
	if err != nil {
		t.Fatal(err)
	}
	var only func(parts []message.Part) bool
	only = func(parts []message.Part) bool {
		return !slices.ContainsFunc(parts, func(p message.Part) bool {
			switch p.Kind {
			case message.Text, message.ToolCall, message.ToolResult, message.Refusal:
				return !only(p.Parts)
			}
			return true
		})
	}
	return !slices.ContainsFunc(b.Messages, func(m message.Message) bool { return !only(m.Parts) })
}

func emptyConfig(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "anchor.yaml")
	if err := os.WriteFile(path, []byte("{}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// use says how much of their budgets outputs use.
type use struct {
	left, below, over int
	least, sum        float64
}

func (u *use) String() string {
	return fmt.Sprintf("%d outputs with something left out, %d below 95 %%, the least %.3f, on average %.3f; %d where what must stay is over the budget",
		u.left, u.below, u.least, u.sum/float64(max(1, u.left)), u.over)
}

// of assembles a history for ten budgets.
func (u *use) of(t *testing.T, app *anchor.App, form message.Form, seed uint64, body []byte) {
	t.Helper()
	assemble := func(budget int) *anchor.AssembledBody {
		out, err := app.AssembleBody(t.Context(), body, anchor.BodyOptions{AssembleOptions: anchor.AssembleOptions{MaxTokens: budget}})
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	whole := assemble(1 << 30).Diagnostics
	for part := 5; part < 100; part += 10 {
		budget := whole.ToolTokens + *whole.After.Tokens*part/100
		out := assemble(budget)
		if err := judge.Accept(string(form), out.Body); err != nil {
			t.Errorf("%s %d, %d %%: %v", form, seed, part, err)
		}
		used := float64(*out.Diagnostics.After.Tokens+out.Diagnostics.ToolTokens) / float64(budget)
		switch {
		case out.Diagnostics.TokensOver > 0:
			u.over++
		case !bytes.Equal(out.Body, body):
			u.left++
			u.sum += used
			if u.least == 0 || used < u.least {
				u.least = used
			}
			if used < 0.95 {
				u.below++
				t.Log(fmt.Sprintf("%s %d, %d %%: %d of %d tokens", form, seed, part, int(used*float64(budget)), budget))
			}
		}
	}
}
