package frames

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/anchor-host/anchor-host/pipeline"
)

func newPlan(t *testing.T) *Plan {
	t.Helper()
	plan, err := NewPlan(actor, epoch)
	if err != nil {
		t.Fatal(err)
	}
	return plan
}

func TestReplanSeesWhatCameSince(t *testing.T) {
	p := newPipeline(t, Config{Limits: Limits{MaxFrames: 3}})
	push(t, p, IntentAnalysis, "ia")
	push(t, p, StepSummary, "a")
	first := newPlan(t)
	first.See(p.Window())
	first.Steps = append(first.Steps, NewStep("work", epoch))
	push(t, p, StepSummary, "b")
	push(t, p, StepSummary, "c")
	second, err := first.NewRevision(actor, epoch.Add(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	second.See(p.Window())
	if second.Previous != first.ObjectID || second.Pipeline != p.ID() || len(second.Steps) != 0 || second.ObjectID == first.ObjectID {
		t.Errorf("second plan %+v", second)
	}
	if *first.FWindow != (Positions{0, 2}) || *second.FWindow != (Positions{0, 3}) {
		t.Errorf("ranges %v and %v", *first.FWindow, *second.FWindow)
	}
	wantIDs(t, first.ContextFrames, 0, 1)
	wantIDs(t, second.ContextFrames, 0, 2, 3)
	visible, err := first.Visible(t.Context(), p)
	if err != nil || len(visible) != 2 || visible[1].Summary != "a" {
		t.Errorf("the first plan has seen %v, %v; want a, which was evicted since", visible, err)
	}
}

func TestVisibleByPositions(t *testing.T) {
	p := newPipeline(t, Config{})
	for _, s := range []string{"a", "b", "c"} {
		push(t, p, StepSummary, s)
	}
	plan := newPlan(t)
	if _, err := plan.Visible(t.Context(), p); !errors.Is(err, ErrNoFrame) {
		t.Errorf("a plan without a pipeline: %v", err)
	}
	plan.Pipeline = p.ID()
	for want, positions := range map[string]*Positions{"abc": nil, "b": {1, 2}, "bc": {1, 9}, "": {2, 1}} {
		plan.FWindow = positions
		frames, err := plan.Visible(t.Context(), p)
		got := ""
		for _, f := range frames {
			got += f.Summary
		}
		if err != nil || got != want {
			t.Errorf("positions %v: %q, %v; want %q", positions, got, err, want)
		}
	}
}

func TestPlanIsNotCheckedAgainstFrames(t *testing.T) {
	plan := newPlan(t)
	plan.FWindow = &Positions{7, 2}
	step := NewStep("s", epoch)
	step.IFrames = []uint64{9, 9, 1}
	plan.Steps = append(plan.Steps, step)
	var read Plan
	if err := json.Unmarshal([]byte(toJSON(t, plan)), &read); err != nil || !reflect.DeepEqual(read, *plan) {
		t.Errorf("read %+v, %v\nwant %+v", read, err, *plan)
	}
}

func TestStatusesAreAppendOnly(t *testing.T) {
	step := NewStep("s", epoch)
	if err := step.SetStatus(StepFailed, "no disk", epoch.Add(time.Second)); err != nil {
		t.Fatal(err)
	}
	step.Statuses()[0].Status = StepSkipped
	if got := step.Statuses(); len(got) != 2 || got[0].Status != StepPending || got[1].Reason != "no disk" || step.Status() != StepFailed {
		t.Errorf("statuses %+v", got)
	}
	if err := step.SetStatus("done", "", epoch); !errors.Is(err, pipeline.ErrInvalid) || step.Status() != StepFailed {
		t.Errorf("an unknown status: %v", err)
	}
	in, err := NewIntent(actor, "p", epoch)
	if err != nil {
		t.Fatal(err)
	}
	if in.Status() != IntentDraft {
		t.Errorf("a new intent is %s", in.Status())
	}
	if err := in.SetStatus(IntentCancelled, "", epoch); err != nil || in.Status() != IntentCancelled {
		t.Errorf("status %s, %v", in.Status(), err)
	}
	if err := in.SetStatus("pending", "", epoch); !errors.Is(err, pipeline.ErrInvalid) {
		t.Errorf("a status of steps: %v", err)
	}
	if got := (&PlanStep{}).Status(); got != StepPending {
		t.Errorf("a step without statuses is %s", got)
	}
}

func TestStepJSON(t *testing.T) {
	for name, c := range map[string]struct{ data, want string }{
		"intent":      {`{"intent":"run tests","statuses":[]}`, `{"description":"run tests","statuses":[]}`},
		"nulls":       {`{"description":"s","inputs":null,"task":null,"iframes":null,"statuses":[]}`, `{"description":"s","statuses":[]}`},
		"older":       {`{"description":"s","status":"pending","statuses":[]}`, `{"description":"s","statuses":[]}`},
		"no statuses": {`{"description":"s"}`, `{"description":"s","statuses":[{"status":"pending","changed_at":"0001-01-01T00:00:00Z"}]}`},
		"both":        {`{"description":"s","intent":"s"}`, `! step: invalid value (want either description or intent)`},
		"neither":     {`{"statuses":[]}`, `! step: invalid value (want either description or intent)`},
		"status":      {`{"description":"s","statuses":[{"status":"done","changed_at":"2026-01-01T00:00:00Z"}]}`, `! step: statuses[0]: status "done": invalid value (want one of [pending progressing completed failed skipped])`},
		"no time":     {`{"description":"s","statuses":[{"status":"pending"}]}`, `! step: statuses[0]: changed_at: missing: invalid value`},
		"negative id": {`{"description":"s","iframes":[-1]}`, `! step: iframes[0]: -1: invalid value (want an integer of 0 or more within 64 bits)`},
		"null id":     {`{"description":"s","iframes":[1,null]}`, `! step: iframes[1]: null: invalid value (want an integer of 0 or more within 64 bits)`},
		"unknown":     {`{"description":"s","frames":[]}`, `! step: frames: unknown key: invalid value (did you mean "iframes"?)`},
	} {
		t.Run(name, func(t *testing.T) {
			var step PlanStep
			err := json.Unmarshal([]byte(c.data), &step)
			if message, fails := strings.CutPrefix(c.want, "! "); fails {
				if err == nil || err.Error() != message {
					t.Errorf("error %v, want %s", err, message)
				}
				if !reflect.DeepEqual(step, PlanStep{}) {
					t.Errorf("an error and a value: %+v", step)
				}
			} else if err != nil || toJSON(t, step) != c.want {
				t.Errorf("got %s, %v; want %s", toJSON(t, step), err, c.want)
			}
		})
	}
}

func TestStepsWithoutStatusesArePendingSinceThePlan(t *testing.T) {
	data := strings.Replace(withKeys(`,"steps":[{"description":"s"}]`), "context_pipeline", "plan", 1)
	var plan Plan
	if err := json.Unmarshal([]byte(data), &plan); err != nil {
		t.Fatal(err)
	}
	if got := plan.Steps[0].Statuses(); len(got) != 1 || got[0].Status != StepPending || !got[0].ChangedAt.Equal(epoch) {
		t.Errorf("statuses %+v", got)
	}
}

func TestPositionsJSON(t *testing.T) {
	for _, bad := range []string{`[]`, `[1]`, `[1,2,3]`, `[1,-2]`, `[1,4294967296]`, `[1,null]`, `{"start":1}`, `null`, `"1,2"`} {
		p := Positions{4, 5}
		if err := p.UnmarshalJSON([]byte(bad)); err == nil || p != (Positions{4, 5}) {
			t.Errorf("%s is read as %v", bad, p)
		}
	}
}

func TestPlansAndIntentsNeedACreator(t *testing.T) {
	if _, err := NewPlan(Actor{}, epoch); !errors.Is(err, pipeline.ErrInvalid) {
		t.Errorf("plan: %v", err)
	}
	if _, err := NewIntent(Actor{Kind: Human}, "p", epoch); !errors.Is(err, pipeline.ErrInvalid) {
		t.Errorf("intent: %v", err)
	}
}
