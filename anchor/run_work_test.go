package anchor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/anchor-host/anchor-host/anchor/agentrun"
	"github.com/anchor-host/anchor-host/internal/agentstore"
	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/pipeline/frames"
	"github.com/anchor-host/anchor-host/pipeline/message"
	"github.com/anchor-host/anchor-host/store"
)

// workRun returns a run of an App whose store is in memory, and the App.
func workRun(t *testing.T) (*App, *agentrun.Run) {
	t.Helper()
	app, err := Load(write(t, t.TempDir(), "counting: {tokenizer: words}\nmemory: {frames: {run: fix}}\n"), Options{Store: store.NewMemory()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = app.Close(t.Context()) })
	run, err := app.Run(t.Context(), "", "fix")
	if err != nil {
		t.Fatal(err)
	}
	return app, run
}

// A run from its request to its end: what its steps read and wrote is noted by itself.
func TestRunFollowsItsPlan(t *testing.T) {
	app, run := workRun(t)
	ctx := t.Context()
	if _, err := run.Analyze(ctx, "paging", ""); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("no intent: %v", err)
	}
	if _, err := run.Ask(ctx, "add pagination", "ada"); err != nil {
		t.Fatal(err)
	}
	if _, err := run.Plan(ctx, []string{"a"}, "", false); !errors.Is(err, frames.ErrLifecycle) {
		t.Errorf("a plan for a draft: %v", err)
	}
	if _, err := run.Ask(ctx, "something else", ""); !errors.Is(err, frames.ErrLifecycle) {
		t.Errorf("a second request: %v", err)
	}
	if _, err := run.Analyze(ctx, "limit and offset", ""); err != nil {
		t.Fatal(err)
	}
	plan, err := run.Plan(ctx, []string{"read the handler", "change it"}, "", false)
	if err != nil || !slices.Equal(plan.ContextFrames, []uint64{0}) {
		t.Fatalf("plan %+v, %v", plan, err)
	}
	if _, err := run.ChangeStep(ctx, 1, agentrun.StepChange{Status: frames.StepCompleted}); !errors.Is(err, frames.ErrLifecycle) {
		t.Errorf("completed before it began: %v", err)
	}
	if _, err := run.ChangeStep(ctx, 1, agentrun.StepChange{Status: frames.StepProgressing}); err != nil {
		t.Fatal(err)
	}
	if _, err := app.Build(ctx, pipeline.Query{Text: "what next?"}, BuildOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := run.Push(ctx, frames.Frame{Kind: frames.ToolCall, Summary: "users.go has no limit"}, agentrun.PushOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := app.Assemble(ctx, []pipeline.Message{message.New(pipeline.RoleUser, "go on")}, AssembleOptions{Run: "fix"}); err != nil {
		t.Fatal(err)
	}
	if _, err := run.ChangeStep(ctx, 1, agentrun.StepChange{Status: frames.StepCompleted, Reason: "found"}); err != nil {
		t.Fatal(err)
	}
	plans, err := run.Plans(ctx)
	if err != nil || len(plans) != 1 {
		t.Fatalf("%d plans, %v", len(plans), err)
	}
	if s := plans[0].Steps[0]; !slices.Equal(s.IFrames, []uint64{0, 1}) || !slices.Equal(s.OFrames, []uint64{1}) || s.Status() != frames.StepCompleted {
		t.Errorf("step has read %v, written %v, is %s", s.IFrames, s.OFrames, s.Status())
	}
	replanned, err := run.Plan(ctx, []string{"change it"}, "", true)
	if err != nil || replanned.Previous != plan.ObjectID || !slices.Equal(replanned.ContextFrames, []uint64{0, 1}) {
		t.Errorf("replanned %+v, %v", replanned, err)
	}
	in, err := run.EndIntent(ctx, frames.IntentCompleted, "", "abc123")
	if err != nil || in.Plan != replanned.ObjectID || in.Commit != "abc123" {
		t.Errorf("intent %+v, %v", in, err)
	}
	next, err := run.Ask(ctx, "and sorting", "ada")
	if err != nil || next.Parent != in.ObjectID {
		t.Errorf("next intent %+v, %v", next, err)
	}
	checkSnapshots(t, run)
	if n, err := run.Forget(ctx); err != nil || n != 11 {
		t.Errorf("forgot %d records, %v", n, err)
	}
	if plans, err := run.Plans(ctx); err != nil || len(plans) > 0 {
		t.Errorf("plans left: %v, %v", plans, err)
	}
}

func checkSnapshots(t *testing.T, run *agentrun.Run) {
	t.Helper()
	list, err := run.Snapshots(t.Context())
	if err != nil || len(list) != 2 || list[0].Label != agentrun.SnapshotStart || list[1].Label != agentrun.SnapshotStep || list[1].Step != 1 {
		t.Fatalf("snapshots %+v, %v", list, err)
	}
	mine, err := run.TakeSnapshot(t.Context(), "mine")
	if err != nil || mine.ID != 3 {
		t.Errorf("snapshot %+v, %v", mine, err)
	}
	if d := list[1].Diff(&mine); !slices.Equal(d.Entered, []uint64{1}) || len(d.Left) > 0 {
		t.Errorf("diff %+v", d)
	}
	if _, err := run.Snapshot(t.Context(), 9); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("a snapshot that there is not: %v", err)
	}
}

func TestRunRefuses(t *testing.T) {
	_, run := workRun(t)
	ctx := t.Context()
	for name, tt := range map[string]struct {
		err  error
		want error
	}{
		"blank prompt":      {second(run.Ask(ctx, " ", "")), ErrInvalid},
		"no steps":          {second(run.Plan(ctx, nil, "", false)), ErrInvalid},
		"blank step":        {second(run.Plan(ctx, []string{"a", " "}, "", false)), ErrInvalid},
		"nothing to revise": {second(run.Plan(ctx, []string{"a"}, "", true)), store.ErrNotFound},
		"no plan":           {second(run.ChangeStep(ctx, 1, agentrun.StepChange{})), store.ErrNotFound},
		"no plan to push":   {second(run.Push(ctx, frames.Frame{Kind: frames.ToolCall}, agentrun.PushOptions{Step: 1})), store.ErrNotFound},
		"no intent to end":  {second(run.EndIntent(ctx, frames.IntentCompleted, "", "")), store.ErrNotFound},
	} {
		if !errors.Is(tt.err, tt.want) {
			t.Errorf("%s: %v, want %v", name, tt.err, tt.want)
		}
	}
	if _, err := run.Plan(ctx, []string{"a"}, "", false); err != nil {
		t.Fatal(err)
	}
	if err := second(run.Plan(ctx, []string{"b"}, "", false)); !errors.Is(err, frames.ErrLifecycle) {
		t.Errorf("a second plan: %v", err)
	}
	if err := second(run.ChangeStep(ctx, 2, agentrun.StepChange{})); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("a step too many: %v", err)
	}
	if err := second(run.ChangeStep(ctx, 1, agentrun.StepChange{Read: []uint64{5}})); !errors.Is(err, frames.ErrNoFrame) {
		t.Errorf("a frame that there is not: %v", err)
	}
}

func second[T any](_ T, err error) error { return err }

// Several agents that change one plan at the same time all get through.
func TestPlanIsSharedByWriters(t *testing.T) {
	_, run := workRun(t)
	const writers = 8
	var steps []string
	for i := range writers {
		steps = append(steps, fmt.Sprint("step ", i))
	}
	if _, err := run.Plan(t.Context(), steps, "", false); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for i := range writers {
		wg.Go(func() {
			_, err := run.ChangeStep(t.Context(), i+1, agentrun.StepChange{Status: frames.StepProgressing})
			if err == nil {
				_, err = run.Push(t.Context(), frames.Frame{Kind: frames.StepSummary, Summary: "done"}, agentrun.PushOptions{Step: i + 1})
			}
			if err != nil {
				t.Errorf("writer %d: %v", i, err)
			}
		})
	}
	wg.Wait()
	plans, err := run.Plans(t.Context())
	if err != nil || len(plans) != 1 || len(plans[0].Steps) == 0 {
		t.Fatalf("%+v, error %v, want one plan with steps", plans, err)
	}
	for i, s := range plans[0].Steps {
		if s.Status() != frames.StepProgressing || len(s.OFrames) != 1 {
			t.Errorf("step %d is %s and has written %v", i+1, s.Status(), s.OFrames)
		}
	}
}

// Many goroutines that push to one run through one App lose no frame, and leave no lock.
func TestConcurrentPushes(t *testing.T) {
	app, _ := workRun(t)
	const writers, each = 16, 10
	var group sync.WaitGroup
	for range writers {
		run, err := app.Run(t.Context(), "", "fix")
		if err != nil {
			t.Fatal(err)
		}
		group.Go(func() {
			for range each {
				if _, err := run.Push(t.Context(), frames.Frame{Kind: frames.ToolCall, Summary: "s"}, agentrun.PushOptions{}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
	run, err := app.Run(t.Context(), "", "fix")
	if err != nil {
		t.Fatal(err)
	}
	if list, err := run.Frames(t.Context(), 0, 0); err != nil || len(list) != writers*each {
		t.Errorf("%d frames of %d, %v", len(list), writers*each, err)
	}
	if app.runs.Held() != 0 {
		t.Errorf("%d locks are left", app.runs.Held())
	}
}

// Two Apps push to one store as two processes do.
func TestConcurrentPushesOfTwoApps(t *testing.T) {
	s := store.NewMemory()
	var group sync.WaitGroup
	for range 4 {
		app, err := Load(write(t, t.TempDir(), "counting: {tokenizer: words}\n"), Options{Store: s})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = app.Close(t.Context()) })
		run, err := app.Run(t.Context(), "", "fix")
		if err != nil {
			t.Fatal(err)
		}
		group.Go(func() {
			for range 20 {
				if _, err := run.Push(t.Context(), frames.Frame{Kind: frames.ToolCall, Summary: "s"}, agentrun.PushOptions{}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
}

// A push that waits for another one ends with its context.
func TestPushWaitsNoLongerThanItsContext(t *testing.T) {
	app, run := workRun(t)
	unlock, err := app.runs.Lock(t.Context(), &agentstore.Run{Store: app.store, Tenant: store.DefaultTenant, ID: "fix"})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if _, err := run.Push(ctx, frames.Frame{Kind: frames.ToolCall, Summary: "s"}, agentrun.PushOptions{}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v", err)
	}
	unlock()
	if app.runs.Held() != 0 {
		t.Errorf("%d locks are left", app.runs.Held())
	}
}

// Each intent gets a first plan, which replaces none.
func TestEachIntentHasAFirstPlan(t *testing.T) {
	_, run := workRun(t)
	ctx := t.Context()
	for _, prompt := range []string{"add pagination", "and sorting"} {
		if err := second(run.Ask(ctx, prompt, "")); err != nil {
			t.Fatal(err)
		}
		if err := second(run.Analyze(ctx, prompt, "")); err != nil {
			t.Fatal(err)
		}
		plan, err := run.Plan(ctx, []string{prompt}, "", false)
		if err != nil || !plan.Previous.IsZero() {
			t.Fatalf("%s: plan %+v, %v", prompt, plan, err)
		}
		if err := second(run.Plan(ctx, []string{"again"}, "", false)); !errors.Is(err, frames.ErrLifecycle) {
			t.Errorf("%s: a second plan: %v", prompt, err)
		}
		in, err := run.EndIntent(ctx, frames.IntentCompleted, "", "")
		if err != nil || in.Plan != plan.ObjectID {
			t.Errorf("intent %+v, %v", in, err)
		}
	}
}

// A document that changes says when.
func TestChangedWorkIsDated(t *testing.T) {
	_, run := workRun(t)
	ctx := t.Context()
	if err := second(run.Ask(ctx, "add pagination", "")); err != nil {
		t.Fatal(err)
	}
	if in, err := run.Analyze(ctx, "limit and offset", ""); err != nil || !in.UpdatedAt.After(in.CreatedAt) {
		t.Errorf("intent created at %v, updated at %v, %v", in.CreatedAt, in.UpdatedAt, err)
	}
	plan, err := run.Plan(ctx, []string{"a"}, "", false)
	if err != nil || !plan.UpdatedAt.Equal(plan.CreatedAt) {
		t.Fatalf("plan created at %v, updated at %v, %v", plan.CreatedAt, plan.UpdatedAt, err)
	}
	if err := second(run.ChangeStep(ctx, 1, agentrun.StepChange{Status: frames.StepProgressing})); err != nil {
		t.Fatal(err)
	}
	plans, err := run.Plans(ctx)
	if err != nil || len(plans) != 1 || !plans[0].UpdatedAt.After(plan.CreatedAt) || !plans[0].CreatedAt.Equal(plan.CreatedAt) {
		t.Errorf("plans %+v, %v", plans, err)
	}
}

// The texts and data of a plan are bounded one by one, and all together.
func TestPlansAreBounded(t *testing.T) {
	_, run := workRun(t)
	ctx := t.Context()
	text := strings.Repeat("x", agentstore.MaxStepText)
	refuse := func(err error, want string) {
		t.Helper()
		if !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %s", err, want)
		}
	}
	refuse(second(run.Plan(ctx, []string{"a", text + "x"}, "", false)), "step 2: description: 16385 bytes (want at most 16384)")
	refuse(second(run.Plan(ctx, slices.Repeat([]string{text}, 65), "", false)), "its steps have 1064960 bytes (want at most 1048576")
	if err := second(run.Plan(ctx, slices.Repeat([]string{text}, 60), "", false)); err != nil {
		t.Fatal(err)
	}
	data := json.RawMessage(`"` + strings.Repeat("x", agentstore.MaxStepData-2) + `"`)
	more := slices.Concat(data, []byte(" "))
	refuse(second(run.ChangeStep(ctx, 1, agentrun.StepChange{Inputs: more})), "step 1: inputs: 262145 bytes (want at most 262144)")
	refuse(second(run.ChangeStep(ctx, 1, agentrun.StepChange{Outputs: more})), "step 1: outputs: 262145 bytes")
	refuse(second(run.ChangeStep(ctx, 1, agentrun.StepChange{Checks: more})), "step 1: checks: 262145 bytes")
	refuse(second(run.ChangeStep(ctx, 1, agentrun.StepChange{Status: frames.StepSkipped, Reason: text + "x"})), "step 1: reason: 16385 bytes (want at most 16384)")
	refuse(second(run.ChangeStep(ctx, 1, agentrun.StepChange{Outputs: data})), "its steps have 1245184 bytes (want at most 1048576")
	if err := second(run.ChangeStep(ctx, 1, agentrun.StepChange{Status: frames.StepSkipped, Reason: text})); err != nil {
		t.Error(err)
	}
}

// A run is listed whatever it has.
func TestRunsWithoutFramesAreListed(t *testing.T) {
	app, run := workRun(t)
	ctx := t.Context()
	if err := second(run.Ask(ctx, "add pagination", "")); err != nil {
		t.Fatal(err)
	}
	other, err := app.Run(ctx, "", "other")
	if err != nil {
		t.Fatal(err)
	}
	if err := second(other.Push(ctx, frames.Frame{Kind: frames.ToolCall, Summary: "s"}, agentrun.PushOptions{})); err != nil {
		t.Fatal(err)
	}
	list, err := app.Runs(ctx, "")
	if err != nil || len(list) != 2 || list[0].ID != "fix" || list[0].Newest != 0 || list[0].Time.IsZero() || list[1].ID != "other" || list[1].Newest != 1 {
		t.Errorf("runs %+v, %v", list, err)
	}
}
