package frames

import (
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// Each status leads to those that its type documents, and to no other.
func TestLifecycles(t *testing.T) {
	for _, from := range stepStatuses {
		for _, to := range stepStatuses {
			s := NewStep("s", epoch)
			if err := s.SetStatus(from, "", epoch); err != nil {
				t.Fatal(err)
			}
			want := from == StepPending && (to == StepProgressing || to == StepFailed || to == StepSkipped) ||
				from == StepProgressing && (to == StepCompleted || to == StepFailed || to == StepSkipped)
			if err := s.Advance(to, "", epoch); want != (err == nil) || err != nil && (!errors.Is(err, ErrLifecycle) || s.Status() != from) {
				t.Errorf("%s to %s: %v, now %s", from, to, err, s.Status())
			}
		}
	}
	for _, from := range intentStatuses {
		for _, to := range intentStatuses {
			in, err := NewIntent(actor, "p", epoch)
			if err != nil {
				t.Fatal(err)
			}
			if err := in.SetStatus(from, "", epoch); err != nil {
				t.Fatal(err)
			}
			want := from == IntentDraft && (to == IntentActive || to == IntentCancelled) ||
				from == IntentActive && (to == IntentCompleted || to == IntentCancelled)
			if err := in.Advance(to, "", epoch); want != (err == nil) || err != nil && (!errors.Is(err, ErrLifecycle) || in.Status() != from) {
				t.Errorf("%s to %s: %v, now %s", from, to, err, in.Status())
			}
		}
	}
	s := NewStep("read", epoch)
	want := `step "read": "completed" after "pending": wrong order of statuses (want one of [progressing failed skipped])`
	if err := s.Advance(StepCompleted, "", epoch); err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
	if err := errors.Join(s.Advance(StepFailed, "no handler", epoch)); err != nil {
		t.Fatal(err)
	}
	if err := s.Advance(StepProgressing, "", epoch); err == nil || !strings.Contains(err.Error(), "(failed is final)") {
		t.Error(err)
	}
}

func TestFramesOfSteps(t *testing.T) {
	plan := newPlan(t)
	plan.Steps = []PlanStep{NewStep("a", epoch), NewStep("b", epoch)}
	if at := plan.Current(); at != -1 {
		t.Errorf("nothing progresses, current is %d", at)
	}
	plan.Steps[1].Consume(3, 1)
	plan.Steps[1].Consume(1, 2)
	plan.Steps[1].Produce(7)
	if s := plan.Steps[1]; !slices.Equal(s.IFrames, []uint64{1, 2, 3}) || !slices.Equal(s.OFrames, []uint64{7}) {
		t.Errorf("read %v, written %v", s.IFrames, s.OFrames)
	}
	for i, want := range []int{1, -1} {
		if err := plan.Steps[1-i].Advance(StepProgressing, "", epoch); err != nil {
			t.Fatal(err)
		}
		if at := plan.Current(); at != want {
			t.Errorf("%d steps progress, current is %d, want %d", i+1, at, want)
		}
	}
}

func TestSnapshot(t *testing.T) {
	p := newPipeline(t, Config{Limits: Limits{MaxFrames: 2}})
	push(t, p, ToolCall, "a")
	push(t, p, ToolCall, "b")
	first := TakeSnapshot(p, "before", epoch)
	push(t, p, ToolCall, "c")
	p.SetGlobalSummary("half done")
	second := TakeSnapshot(p, "after", epoch)
	second.ID, second.Step, second.Plan = 7, 3, NewUUID(epoch)
	if d := first.Diff(&second); !slices.Equal(d.Entered, []uint64{2}) || !slices.Equal(d.Left, []uint64{0}) || !d.SummaryChanged {
		t.Errorf("diff %+v", d)
	}
	for _, s := range []Snapshot{first, second, TakeSnapshot(nil, "empty", epoch)} {
		var read Snapshot
		if err := json.Unmarshal([]byte(toJSON(t, s)), &read); err != nil || !reflect.DeepEqual(read, s) {
			t.Errorf("read %+v, want %+v: %v", read, s, err)
		}
	}
	for _, bad := range []string{`{}`, `[]`, strings.Replace(toJSON(t, second), "[1,2]", "[2,1]", 1), strings.Replace(toJSON(t, second), "label", "lable", 1)} {
		read := first
		if err := json.Unmarshal([]byte(bad), &read); err == nil || !reflect.DeepEqual(read, first) {
			t.Errorf("%s: read as %+v", bad, read)
		}
	}
}

func FuzzSnapshot(f *testing.F) {
	f.Add([]byte(`{"label":"l","fwindow":[0,1],"context_frames":[1,5],"total_token_estimate":3,"created_at":"2026-01-01T12:00:00Z"}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		checkDecode(t, data, func(s Snapshot) bool { return slices.IsSorted(s.ContextFrames) })
	})
}
