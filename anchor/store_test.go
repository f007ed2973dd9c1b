package anchor

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/anchor-host/anchor-host/anchor/agentrun"
	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/pipeline/frames"
	"github.com/anchor-host/anchor-host/pipeline/memory"
	"github.com/anchor-host/anchor-host/pipeline/message"
	"github.com/anchor-host/anchor-host/store"
)

// remembering fills what a tenant has: a fact, a conversation, and a run with two frames.
func remembering(t *testing.T, app *App, tenant string) {
	t.Helper()
	ctx := t.Context()
	facts, err := app.Facts(ctx, tenant)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := facts.Add(ctx, memory.Entry{ID: "f", Content: "likes trains", UserID: "ann"}); err != nil {
		t.Fatal(err)
	}
	talk, err := app.Conversation(ctx, tenant, "chat")
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"one", "two", "three"} {
		if _, err := talk.Add(ctx, pipeline.Turn{Role: pipeline.RoleUser, Content: text}); err != nil {
			t.Fatal(err)
		}
	}
	run, err := app.Run(ctx, tenant, "fix-42")
	if err != nil {
		t.Fatal(err)
	}
	for i, text := range []string{"first", "second"} {
		pushed, err := run.Push(ctx, frames.Frame{Kind: frames.StepSummary, Summary: text}, agentrun.PushOptions{Count: true})
		if err != nil || pushed.ID != uint64(i) || pushed.Frames != i+1 || pushed.Tokens != uint64(i+1) {
			t.Fatalf("%+v, %v", pushed, err)
		}
	}
}

func TestRuns(t *testing.T) {
	app := load(t, basic)
	ctx := t.Context()
	remembering(t, app, "acme")
	run, err := app.Run(ctx, "acme", "fix-42")
	if err != nil {
		t.Fatal(err)
	}
	pushed, err := run.Push(ctx, frames.Frame{Kind: frames.StepSummary, Summary: "third"}, agentrun.PushOptions{
		GlobalSummary: "all of it", Limits: func(l frames.Limits) frames.Limits { l.MaxFrames = 2; return l },
	})
	if err != nil || pushed.ID != 2 || pushed.Frames != 2 {
		t.Errorf("%+v, %v", pushed, err)
	}
	window, err := run.Window(ctx)
	if err != nil || window.GlobalSummary() != "all of it" || window.Len() != 2 {
		t.Fatalf("%+v, %v", window, err)
	}
	if all, err := run.Frames(ctx, 1, 1); err != nil || len(all) != 1 || all[0].Summary != "second" {
		t.Errorf("%+v, %v", all, err)
	}
	// Pushes of several callers to one run all arrive.
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() {
			if _, err := run.Push(ctx, frames.Frame{Kind: frames.ToolCall, Summary: fmt.Sprint("call ", i)}, agentrun.PushOptions{}); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if all, err := run.Frames(ctx, 0, 0); err != nil || len(all) != 7 {
		t.Errorf("%d frames, %v", len(all), err)
	}
	if _, err := app.Assemble(ctx, []pipeline.Message{message.New(pipeline.RoleUser, "go on")}, AssembleOptions{Run: "fix-42", Tenant: "acme"}); err != nil {
		t.Fatal(err)
	}
	if state, err := run.State(ctx); err != nil || len(state.Messages) != 2 {
		t.Errorf("%+v, %v", state, err)
	}
	if list, err := app.Runs(ctx, "acme"); err != nil || len(list) != 1 || list[0].ID != "fix-42" {
		t.Errorf("%+v, %v", list, err)
	}
	if n, err := run.Forget(ctx); err != nil || n != 9 {
		t.Errorf("%d records, %v", n, err)
	}
	if window, err := run.Window(ctx); window != nil || err != nil {
		t.Errorf("after forgetting: %+v, %v", window, err)
	}
	if _, err := app.Run(ctx, "acme", ""); !errors.Is(err, ErrInvalid) {
		t.Errorf("a run without a name: %v", err)
	}
}

func TestForgetting(t *testing.T) {
	app := load(t, basic)
	ctx := t.Context()
	for _, tenant := range []string{"acme", "other"} {
		remembering(t, app, tenant)
	}
	talk, err := app.Conversation(ctx, "acme", "chat")
	if err != nil {
		t.Fatal(err)
	}
	if n, err := talk.Delete(ctx, 2, 9); err != nil || n != 1 {
		t.Errorf("delete turns: %d, %v", n, err)
	}
	if _, err := talk.Delete(ctx, 0); !errors.Is(err, ErrInvalid) {
		t.Errorf("delete turn 0: %v", err)
	}
	if n, err := app.ForgetFacts(ctx, "acme", memory.Filter{UserID: "bob"}); err != nil || n != 0 {
		t.Errorf("facts of bob: %d, %v", n, err)
	}
	if n, err := app.ForgetFacts(ctx, "acme", memory.Filter{UserID: "ann"}); err != nil || n != 1 {
		t.Errorf("facts of ann: %d, %v", n, err)
	}
	if list, err := app.Conversations(ctx, "acme"); err != nil || len(list) != 1 || list[0].ID != "chat" || list[0].Newest != 3 {
		t.Errorf("%+v, %v", list, err)
	}
	if n, err := app.ForgetTenant(ctx, "acme"); err != nil || n != 5 {
		t.Errorf("forget a tenant: %d, %v", n, err)
	}
	if _, err := app.ForgetTenant(ctx, ""); !errors.Is(err, ErrInvalid) {
		t.Errorf("forget no tenant: %v", err)
	}
	if err := app.Checkpoint(ctx); err != nil {
		t.Error(err)
	}
	var acme, other bytes.Buffer
	if err := errors.Join(app.Export(ctx, "acme", &acme, nil), app.Export(ctx, "other", &other, nil)); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(acme.String(), `"data"`) || strings.Count(other.String(), `"data"`) != 7 {
		t.Errorf("acme:\n%s\nother:\n%s", &acme, &other)
	}
	if n, err := app.Import(ctx, "copy", &other); err != nil || n != 7 {
		t.Errorf("import: %d, %v", n, err)
	}
	if _, err := app.Import(ctx, "copy", strings.NewReader(`{"kind":"fact","data":{}}`)); !errors.Is(err, store.ErrInvalid) {
		t.Errorf("import of what is no fact: %v", err)
	}
	again, err := app.Run(ctx, "copy", "fix-42")
	if err != nil {
		t.Fatal(err)
	}
	if window, err := again.Window(ctx); err != nil || window == nil || window.Len() != 2 {
		t.Errorf("imported run: %+v, %v", window, err)
	}
}

// Everything else is in other tenants: names of tenants do not lead from one to another.
func TestTenantsStayApart(t *testing.T) {
	app := load(t, basic)
	ctx := t.Context()
	remembering(t, app, "a")
	for _, tenant := range []string{"a/turn", "a/", "A", "", "b"} {
		list, err := app.Conversations(ctx, tenant)
		if err == nil && len(list) > 0 {
			t.Errorf("tenant %q: %+v", tenant, list)
		}
	}
}
