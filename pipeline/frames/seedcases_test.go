package frames

import (
	"encoding/json"
	"os"
	"reflect"
	"testing"
)

type seedCase struct {
	ID       string          `json:"id"`
	Area     string          `json:"area"`
	Input    json.RawMessage `json:"input"`
	Expected any             `json:"expected"`
}

// No case of these areas is deviated from.
func TestSeedCases(t *testing.T) {
	data, err := os.ReadFile("../../testdata/seed-cases-frames.json")
	if err != nil {
		t.Fatal(err)
	}
	var doc struct{ Cases []seedCase }
	if err := json.Unmarshal(data, &doc); err != nil {
		t.Fatal(err)
	}
	if len(doc.Cases) < 9 {
		t.Fatalf("%d cases, want at least 9", len(doc.Cases))
	}
	for _, c := range doc.Cases {
		t.Run(c.ID, func(t *testing.T) {
			var got any
			switch {
			case c.Area == "context_frames":
				got = runFramesCase(t, c)
			case c.ID == "gi-11":
				got = runLinksCase(t, c)
				// A sentence, not a value: TestPositionsAreHalfOpen and
				// TestPlanIsNotCheckedAgainstFrames hold it.
				delete(c.Expected.(map[string]any), "fwindow_meaning")
			case c.ID == "gi-12":
				got = runRevisionsCase(t, c)
			default:
				t.Fatalf("area %q has no runner", c.Area)
			}
			if got = asAny(t, got); !reflect.DeepEqual(got, c.Expected) {
				t.Errorf("got  %s\nwant %s", toJSON(t, got), toJSON(t, c.Expected))
			}
		})
	}
}

func runFramesCase(t *testing.T, c seedCase) any {
	var input struct{ Ops [][]any }
	if err := json.Unmarshal(c.Input, &input); err != nil {
		t.Fatal(err)
	}
	p := newPipeline(t, Config{})
	returned := []any{}
	for _, op := range input.Ops {
		switch op[0] {
		case "set_max_frames":
			p.SetLimits(Limits{MaxFrames: uint32(op[1].(float64))})
			returned = append(returned, nil)
		case "push":
			returned = append(returned, pushOp(t, p, op))
		default:
			t.Fatalf("unknown operation %v", op[0])
		}
	}
	frames := []any{}
	for _, f := range p.Window().Frames {
		frames = append(frames, map[string]any{"frame_id": f.ID, "kind": string(f.Kind), "summary": f.Summary})
		if found, ok := p.Frame(f.ID); !ok || found.Summary != f.Summary {
			t.Errorf("frame %d is in the window and not found", f.ID)
		}
	}
	return map[string]any{
		"returned_ids": returned, "frames": frames,
		"next_frame_id": p.NextFrameID(), "total_token_estimate": p.TotalTokenEstimate(),
	}
}

func pushOp(t *testing.T, p *Pipeline, op []any) uint64 {
	kind, err := ParseKind(op[1].(string))
	if err != nil {
		t.Fatal(err)
	}
	f := Frame{Kind: kind, Summary: op[2].(string)}
	if len(op) > 3 {
		f.TokenEstimate = Tokens(uint64(op[3].(float64)))
	}
	id, err := p.Push(t.Context(), f)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func runLinksCase(t *testing.T, c seedCase) any {
	var input struct {
		Plan struct {
			FWindow Positions
			Steps   []struct {
				Description      string
				IFrames, OFrames []uint64
			}
		}
	}
	if err := json.Unmarshal(c.Input, &input); err != nil {
		t.Fatal(err)
	}
	plan, err := NewPlan(actor, epoch)
	if err != nil {
		t.Fatal(err)
	}
	fresh := plan.FWindow
	plan.FWindow = &input.Plan.FWindow
	for _, s := range input.Plan.Steps {
		step := NewStep(s.Description, epoch)
		step.IFrames, step.OFrames = s.IFrames, s.OFrames
		plan.Steps = append(plan.Steps, step)
	}
	var read Plan
	if err := json.Unmarshal([]byte(toJSON(t, plan)), &read); err != nil {
		t.Fatal(err)
	}
	omitted := []string{}
	noop := asAny(t, read.Steps[1]).(map[string]any)
	for _, key := range []string{"iframes", "oframes", "task", "inputs", "outputs", "checks"} {
		if _, ok := noop[key]; !ok {
			omitted = append(omitted, key)
		}
	}
	return map[string]any{
		"fwindow_roundtrip":          read.FWindow,
		"iframes_roundtrip":          read.Steps[0].IFrames,
		"oframes_roundtrip":          read.Steps[0].OFrames,
		"keys_omitted_for_noop_step": omitted,
		"fresh_plan_fwindow":         fresh,
	}
}

func runRevisionsCase(t *testing.T, _ seedCase) any {
	v1, err := NewPlan(actor, epoch)
	if err != nil {
		t.Fatal(err)
	}
	v1.See(Window{Pipeline: NewUUID(epoch)})
	v1.Steps = append(v1.Steps, NewStep("run tests", epoch))
	names := map[UUID]any{{}: nil, v1.ObjectID: "v1.id"}
	v2, err := v1.NewRevision(actor, epoch)
	if err != nil {
		t.Fatal(err)
	}
	names[v2.ObjectID] = "v2.id"
	v3, err := v2.NewRevision(actor, epoch)
	if err != nil {
		t.Fatal(err)
	}
	copies, resets := []string{}, []string{}
	for _, f := range []struct {
		name string
		zero bool
	}{{"pipeline", v2.Pipeline.IsZero()}, {"fwindow", v2.FWindow == nil}, {"steps", len(v2.Steps) == 0}} {
		if f.zero {
			resets = append(resets, f.name)
		} else {
			copies = append(copies, f.name)
		}
	}
	step := &v1.Steps[0]
	for _, change := range []struct {
		status StepStatus
		reason string
	}{{StepProgressing, ""}, {StepCompleted, "all checks passed"}} {
		if err := step.SetStatus(change.status, change.reason, epoch); err != nil {
			t.Fatal(err)
		}
	}
	statuses := []any{}
	for _, e := range step.Statuses() {
		statuses = append(statuses, []any{e.Status, orNull(e.Reason)})
	}
	return map[string]any{
		"v1.previous": names[v1.Previous], "v2.previous": names[v2.Previous], "v3.previous": names[v3.Previous],
		"new_revision_copies": copies, "new_revision_resets": resets, "step_statuses": statuses,
		"transition_rules_enforced": step.SetStatus(StepPending, "", epoch) != nil,
	}
}
