package anchor

import (
	"context"
	"strings"
	"testing"

	"github.com/anchor-host/anchor-host/internal/agentstore"
	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/pipeline/frames"
	"github.com/anchor-host/anchor-host/pipeline/memory"
	"github.com/anchor-host/anchor-host/pipeline/store"
)

// noPlans is a store that stores no plans while full is true.
type noPlans struct {
	store.Store
	full bool
}

func (s *noPlans) Apply(ctx context.Context, changes ...store.Change) error {
	for _, c := range changes {
		if s.full && c.Key.Kind == agentstore.KindPlan {
			return store.ErrFull
		}
	}
	return s.Store.Apply(ctx, changes...)
}

// An assembly or a build whose plan cannot be changed succeeds with a warning: the state and
// the turn are stored, and a retry would store them twice.
func TestNotesThatFailAreWarnings(t *testing.T) {
	s := &noPlans{Store: store.NewMemory()}
	app, err := Load(write(t, t.TempDir(), "tokenizer: words\nframes: {run: fix}\nagent: {observation: {enabled: true}}\nconversation: {id: c}\n"), Options{Store: s})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = app.Close(t.Context()) })
	ctx := t.Context()
	run, err := app.Run(ctx, "", "fix")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := run.Push(ctx, frames.Frame{Kind: frames.ToolCall, Summary: "x"}, PushOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := run.Plan(ctx, []string{"a"}, "", false); err != nil {
		t.Fatal(err)
	}
	if _, err := run.ChangeStep(ctx, 1, StepChange{Status: frames.StepProgressing}); err != nil {
		t.Fatal(err)
	}
	s.full = true
	built, err := app.Build(ctx, pipeline.Query{Text: "remember me"}, BuildOptions{Remember: true})
	if err != nil || !strings.Contains(strings.Join(built.Diagnostics.Warnings, "\n"), "the plan does not name") {
		t.Errorf("build: %v", err)
	}
	turns, err := s.Read(ctx, store.Key{Tenant: run.run.Tenant, Kind: memory.KindTurn, Stream: "c"}, 0, 0)
	if err != nil || len(turns) != 1 {
		t.Errorf("%d turns, %v", len(turns), err)
	}
	made, err := app.Assemble(ctx, []pipeline.Message{{Role: pipeline.RoleUser, Content: "go on"}}, AssembleOptions{Run: "fix"})
	if err != nil || !strings.Contains(strings.Join(made.Diagnostics.Warnings, "\n"), "the plan does not name") {
		t.Errorf("assemble: %v", err)
	}
}
