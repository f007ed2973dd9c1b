package anchor

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/anchor-host/anchor-host/anchor/agentrun"
	"github.com/anchor-host/anchor-host/internal/agentstore"
	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/pipeline/conversation"
	"github.com/anchor-host/anchor-host/pipeline/frames"
	"github.com/anchor-host/anchor-host/pipeline/message"
	"github.com/anchor-host/anchor-host/store"
)

// noPlans is a store that stores no plans while full is true.
type noPlans struct {
	store.Store
	full bool
}

// Put stores no document of a run while full is true.
func (s *noPlans) Put(ctx context.Context, key store.Key, rec store.Record) error {
	if s.full && key.Kind == agentstore.KindRun {
		return store.ErrFull
	}
	return s.Store.Put(ctx, key, rec)
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
	app, err := Load(write(t, t.TempDir(), "counting: {tokenizer: words}\nagent: {observation: {enabled: true}}\nmemory: {conversation: {id: c}, frames: {run: fix}}\n"), Options{Store: s})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = app.Close(t.Context()) })
	ctx := t.Context()
	run, err := app.Run(ctx, "", "fix")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := run.Push(ctx, frames.Frame{Kind: frames.ToolCall, Summary: "x"}, agentrun.PushOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := run.Plan(ctx, []string{"a"}, "", false); err != nil {
		t.Fatal(err)
	}
	if _, err := run.ChangeStep(ctx, 1, agentrun.StepChange{Status: frames.StepProgressing}); err != nil {
		t.Fatal(err)
	}
	s.full = true
	built, err := app.Build(ctx, pipeline.Query{Text: "remember me"}, BuildOptions{Remember: true})
	if err != nil || !strings.Contains(strings.Join(built.Diagnostics.Warnings, "\n"), "the plan does not name") {
		t.Errorf("build: %v", err)
	}
	turns, err := s.Read(ctx, store.Key{Tenant: store.DefaultTenant, Kind: conversation.KindTurn, Stream: "c"}, 0, 0)
	if err != nil || len(turns) != 1 {
		t.Errorf("%d turns, %v", len(turns), err)
	}
	made, err := app.Assemble(ctx, []pipeline.Message{message.New(pipeline.RoleUser, "go on")}, AssembleOptions{Run: "fix"})
	if err != nil || !strings.Contains(strings.Join(made.Diagnostics.Warnings, "\n"), "the plan does not name") {
		t.Errorf("assemble: %v", err)
	}
}

// A push whose plan or limits cannot be changed succeeds with a warning: the frame is stored, and a
// retry would store it twice.
func TestPushThatIsNotNotedIsAWarning(t *testing.T) {
	s := &noPlans{Store: store.NewMemory()}
	app, err := Load(write(t, t.TempDir(), "counting: {tokenizer: words}\n"), Options{Store: s})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = app.Close(t.Context()) })
	ctx := t.Context()
	run, err := app.Run(ctx, "", "fix")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := run.Plan(ctx, []string{"a"}, "", false); err != nil {
		t.Fatal(err)
	}
	if _, err := run.Push(ctx, frames.Frame{Kind: frames.ToolCall, Summary: "x"}, agentrun.PushOptions{}); err != nil {
		t.Fatal(err)
	}
	s.full = true
	pushed, err := run.Push(ctx, frames.Frame{Kind: frames.ToolCall, Summary: "y"}, agentrun.PushOptions{Step: 1, GlobalSummary: "z"})
	warnings := strings.Join(pushed.Warnings, "\n")
	if err != nil || pushed.ID != 1 || pushed.Frames != 2 || len(pushed.Warnings) != 2 ||
		!strings.Contains(warnings, "frame 1 is stored, but the plan does not name it") || !strings.Contains(warnings, "the limits and the summary of the run are unchanged") {
		t.Errorf("pushed %+v, %v", pushed, err)
	}
	if list, err := run.Frames(ctx, 0, 0); err != nil || len(list) != 2 {
		t.Errorf("%d frames, %v", len(list), err)
	}
}

// A plan and the intent that names it are stored together, or neither.
func TestPlanAndItsIntentAreStoredTogether(t *testing.T) {
	s := &noIntents{Store: store.NewMemory()}
	app, err := Load(write(t, t.TempDir(), "counting: {tokenizer: words}\n"), Options{Store: s})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = app.Close(t.Context()) })
	ctx := t.Context()
	run, err := app.Run(ctx, "", "fix")
	if err != nil {
		t.Fatal(err)
	}
	if err := second(run.Ask(ctx, "add pagination", "")); err != nil {
		t.Fatal(err)
	}
	if err := second(run.Analyze(ctx, "limit and offset", "")); err != nil {
		t.Fatal(err)
	}
	s.full = true
	if err := second(run.Plan(ctx, []string{"a"}, "", false)); !errors.Is(err, store.ErrFull) {
		t.Errorf("a plan whose intent is not stored: %v", err)
	}
	s.full = false
	plan, err := run.Plan(ctx, []string{"a"}, "", false)
	if err != nil {
		t.Fatal(err)
	}
	in, err := run.Intent(ctx)
	if err != nil || in.Plan != plan.ObjectID {
		t.Errorf("intent %+v, %v", in, err)
	}
	if plans, err := run.Plans(ctx); err != nil || len(plans) != 1 {
		t.Errorf("%d plans, %v", len(plans), err)
	}
}

// noIntents is a store that stores no intents while full is true.
type noIntents struct {
	store.Store
	full bool
}

func (s *noIntents) Apply(ctx context.Context, changes ...store.Change) error {
	for _, c := range changes {
		if s.full && c.Key.Kind == agentstore.KindIntent {
			return store.ErrFull
		}
	}
	return s.Store.Apply(ctx, changes...)
}

// An analysis whose frame the plan cannot name says so.
func TestAnalysesReportWarnings(t *testing.T) {
	s := &noPlans{Store: store.NewMemory()}
	app, err := Load(write(t, t.TempDir(), "counting: {tokenizer: words}\n"), Options{Store: s})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = app.Close(t.Context()) })
	ctx := t.Context()
	run, err := app.Run(ctx, "", "fix")
	if err == nil {
		_, err = run.Ask(ctx, "add pagination", "")
	}
	if err == nil {
		_, err = run.Analyze(ctx, "limit and offset", "")
	}
	if err == nil {
		_, err = run.Plan(ctx, []string{"a"}, "", false)
	}
	if err == nil {
		_, err = run.ChangeStep(ctx, 1, agentrun.StepChange{Status: frames.StepProgressing})
	}
	if err != nil {
		t.Fatal(err)
	}
	s.full = true
	got, err := run.Analyze(ctx, "cursors", "")
	if err != nil || len(got.Warnings) != 1 || !strings.Contains(got.Warnings[0], "the plan does not name it") {
		t.Errorf("%q, %v", got.Warnings, err)
	}
}
