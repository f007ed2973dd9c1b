package agentrun

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/anchor-host/anchor-host/internal/agentstore"
	"github.com/anchor-host/anchor-host/internal/config"
	"github.com/anchor-host/anchor-host/internal/errkind"
	"github.com/anchor-host/anchor-host/internal/observe"
	"github.com/anchor-host/anchor-host/pipeline/frames"
	"github.com/anchor-host/anchor-host/store"
)

// The labels of snapshots that are taken automatically.
const (
	// SnapshotStart labels the snapshot that is taken when the intent becomes active.
	SnapshotStart = "start"
	// SnapshotStep labels a snapshot that is taken when a step begins to progress.
	SnapshotStep = "step"
)

// creator returns the actor that is recorded as the creator of a document.
func creator(by string) frames.Actor {
	return frames.Actor{Kind: frames.Agent, ID: cmp.Or(by, "anchor-host")}
}

// Intent returns the newest intent of the run, or nil if it has none.
func (r *Run) Intent(ctx context.Context) (*frames.Intent, error) {
	run := r.run
	list, err := run.Intents(ctx)
	if err != nil || len(list) == 0 {
		return nil, err
	}
	return &list[len(list)-1], nil
}

// Ask gives the run a new intent, which is a draft until [Run.Analyze]. by is recorded as its
// creator; empty means "anchor-host". The previous intent must have ended and becomes the parent.
func (r *Run) Ask(ctx context.Context, prompt, by string) (*frames.Intent, error) {
	if strings.TrimSpace(prompt) == "" {
		return nil, fmt.Errorf("%w: run %q: the prompt is empty", config.ErrInvalid, r.run.ID)
	}
	run := r.run
	return run.ChangeIntent(ctx, func(before *frames.Intent) (*frames.Intent, error) {
		in, err := frames.NewIntent(creator(by), prompt, time.Time{})
		if err == nil {
			err = tooLarge(agentstore.BoundIntent(in))
		}
		if err != nil || before == nil {
			return in, err
		}
		if s := before.Status(); s == frames.IntentDraft || s == frames.IntentActive {
			return nil, fmt.Errorf("intent: %w (the one before is %s: complete or cancel it first)", frames.ErrLifecycle, s)
		}
		in.Parent = before.ObjectID
		return in, nil
	})
}

// Analyze records how the prompt of the newest intent is understood, and makes the intent active.
// The content becomes a frame of the kind intent_analysis, and a snapshot with the label
// [SnapshotStart] is taken. A second analysis replaces the first one and also becomes a frame.
func (r *Run) Analyze(ctx context.Context, content, by string) (Analyzed, error) {
	run := r.run
	var frame frames.Frame
	in, err := run.ChangeIntent(ctx, func(in *frames.Intent) (*frames.Intent, error) {
		if in == nil {
			return nil, errNoIntent
		}
		var err error
		frame, err = in.Analyze(content, time.Time{})
		if err == nil {
			err = tooLarge(agentstore.BoundIntent(in))
		}
		return in, err
	})
	if err != nil {
		return Analyzed{}, err
	}
	pushed, err := r.Push(ctx, frame, PushOptions{By: by})
	if err != nil {
		return Analyzed{Intent: in}, err
	}
	_, err = r.TakeSnapshot(ctx, SnapshotStart)
	return Analyzed{in, pushed.Warnings}, err
}

// Analyzed is the result of [Run.Analyze].
type Analyzed struct {
	*frames.Intent
	// Warnings say what could not be noted with the frame, as in [Pushed].
	Warnings []string
}

var errNoIntent = fmt.Errorf("intent: %w (give the run one first)", store.ErrNotFound)

// EndIntent completes or cancels the newest intent. commit names the commit that fulfils it.
// reason and commit may be empty.
func (r *Run) EndIntent(ctx context.Context, status frames.IntentStatus, reason, commit string) (*frames.Intent, error) {
	run := r.run
	return run.ChangeIntent(ctx, func(in *frames.Intent) (*frames.Intent, error) {
		if in == nil {
			return nil, errNoIntent
		}
		if status != frames.IntentCompleted && status != frames.IntentCancelled {
			return nil, fmt.Errorf("intent: %w: %q does not end it (want %s or %s)", frames.ErrLifecycle, status, frames.IntentCompleted, frames.IntentCancelled)
		}
		if commit != "" {
			in.Commit = commit
		}
		if err := in.Advance(status, reason, time.Time{}); err != nil {
			return nil, err
		}
		return in, tooLarge(agentstore.BoundIntent(in))
	})
}

// Plans returns the plans of the run, oldest first. A plan replaces the one that it names as
// Previous; the first plan of each intent names none.
func (r *Run) Plans(ctx context.Context) ([]frames.Plan, error) {
	run := r.run
	return run.Plans(ctx)
}

// Seen returns the frames that the window held when a plan was made, including frames that have
// left it since.
func (r *Run) Seen(ctx context.Context, plan *frames.Plan) ([]frames.Frame, error) {
	p, err := r.Window(ctx)
	if err != nil || p == nil || plan.Pipeline.IsZero() {
		return nil, err
	}
	return plan.Visible(ctx, p)
}

// Plan gives the run a first plan, or with replan a plan that replaces the newest one. If the run
// has an intent, the intent must be active. The plan is the first one for this intent, and the
// intent then names it. The plan names the frames in the window. by is recorded as its creator;
// empty means "anchor-host".
func (r *Run) Plan(ctx context.Context, steps []string, by string, replan bool) (*frames.Plan, error) {
	if err := checkSteps(steps); err != nil {
		return nil, fmt.Errorf("%w: run %q: %w", config.ErrInvalid, r.run.ID, err)
	}
	seen, err := r.Window(ctx)
	if err != nil {
		return nil, err
	}
	run := r.run
	return run.AddPlan(ctx, func(in *frames.Intent, before *frames.Plan) (*frames.Plan, error) {
		if in != nil && in.Status() != frames.IntentActive {
			return nil, fmt.Errorf("plan: %w (its intent is %s, want %s)", frames.ErrLifecycle, in.Status(), frames.IntentActive)
		}
		if in != nil && in.Plan.IsZero() && !replan {
			before = nil // it belongs to an earlier intent
		}
		plan, err := newPlan(before, steps, by, replan, seen)
		if err != nil {
			return nil, err
		}
		return plan, tooLarge(agentstore.BoundPlan(plan))
	})
}

func checkSteps(steps []string) error {
	if len(steps) == 0 || len(steps) > agentstore.MaxSteps {
		return fmt.Errorf("plan: %d steps (want 1 to %d)", len(steps), agentstore.MaxSteps)
	}
	for i, s := range steps {
		if strings.TrimSpace(s) == "" {
			return fmt.Errorf("plan: step %d is empty", i+1)
		}
		if len(s) > agentstore.MaxStepText {
			return fmt.Errorf("plan: step %d: description: %d bytes (want at most %d)", i+1, len(s), agentstore.MaxStepText)
		}
	}
	return nil
}

// tooLarge marks the error of a document that exceeds its bounds.
func tooLarge(err error) error {
	if err == nil {
		return nil
	}
	return errkind.As(config.ErrInvalid, err)
}

// check returns an error if a member of the change exceeds its bound.
func (c *StepChange) check() error {
	if len(c.Reason) > agentstore.MaxStepText {
		return fmt.Errorf("reason: %d bytes (want at most %d)", len(c.Reason), agentstore.MaxStepText)
	}
	for _, m := range []struct {
		name string
		data json.RawMessage
	}{{"inputs", c.Inputs}, {"outputs", c.Outputs}, {"checks", c.Checks}} {
		if len(m.data) > agentstore.MaxStepData {
			return fmt.Errorf("%s: %d bytes (want at most %d)", m.name, len(m.data), agentstore.MaxStepData)
		}
	}
	return nil
}

func newPlan(before *frames.Plan, steps []string, by string, replan bool, seen *frames.Pipeline) (plan *frames.Plan, err error) {
	switch {
	case replan && before == nil:
		return nil, fmt.Errorf("plan: %w (there is none to replace: push one)", store.ErrNotFound)
	case replan:
		plan, err = before.NewRevision(creator(by), time.Time{})
	case before != nil:
		return nil, fmt.Errorf("plan: %w (there is one already: replace it)", frames.ErrLifecycle)
	default:
		plan, err = frames.NewPlan(creator(by), time.Time{})
	}
	if err != nil {
		return nil, err
	}
	if seen != nil {
		plan.See(seen.Window())
	}
	for _, s := range steps {
		plan.Steps = append(plan.Steps, frames.NewStep(s, plan.CreatedAt))
	}
	return plan, nil
}

// StepChange describes a change of a plan step. Fields with their zero value change nothing.
type StepChange struct {
	// Status is the next status, and Reason explains it; see frames.PlanStep.Advance. A snapshot
	// is taken when a step begins to progress.
	Status frames.StepStatus
	Reason string
	// Read and Wrote are frames that the step read and wrote, in addition to those that are
	// recorded automatically.
	Read, Wrote []uint64
	// Inputs, Outputs and Checks are any JSON values.
	Inputs, Outputs, Checks json.RawMessage
}

// ChangeStep changes a step of the newest plan. Steps are numbered from 1.
func (r *Run) ChangeStep(ctx context.Context, number int, c StepChange) (*frames.Plan, error) {
	if err := c.check(); err != nil {
		return nil, fmt.Errorf("%w: run %q: plan: step %d: %w", config.ErrInvalid, r.run.ID, number, err)
	}
	for _, id := range slices.Concat(c.Read, c.Wrote) {
		if there, err := r.hasFrame(ctx, id); err != nil || !there {
			return nil, cmp.Or(err, fmt.Errorf("run %q: frame %d: %w", r.run.ID, id, frames.ErrNoFrame))
		}
	}
	plan, err := r.changeStep(ctx, number, func(s *frames.PlanStep) (bool, error) {
		s.Consume(c.Read...)
		s.Produce(c.Wrote...)
		if err := s.SetData(c.Inputs, c.Outputs, c.Checks); err != nil {
			return false, err
		}
		if c.Status == "" {
			return true, nil
		}
		return true, s.Advance(c.Status, c.Reason, time.Time{})
	})
	if err != nil || c.Status != frames.StepProgressing {
		return plan, err
	}
	_, err = r.takeSnapshot(ctx, SnapshotStep, plan, number)
	return plan, err
}

// changeStep changes a step of the newest plan, if change says that something changed.
func (r *Run) changeStep(ctx context.Context, number int, change func(*frames.PlanStep) (bool, error)) (*frames.Plan, error) {
	run := r.run
	return run.ChangePlan(ctx, func(p *frames.Plan) (*frames.Plan, error) {
		s, err := step(p, number)
		if err != nil {
			return nil, err
		}
		before := agentstore.SizeOfPlan(p)
		if changed, err := change(s); err != nil || !changed {
			return nil, err
		}
		if agentstore.SizeOfPlan(p) > before { // a plan of before the bounds may shrink
			return p, tooLarge(agentstore.BoundPlan(p))
		}
		return p, nil
	})
}

// step returns a step of a plan by its number.
func step(p *frames.Plan, number int) (*frames.PlanStep, error) {
	if p == nil {
		return nil, fmt.Errorf("plan: %w (push one first)", store.ErrNotFound)
	}
	if number < 1 || number > len(p.Steps) {
		return nil, fmt.Errorf("plan: step %d: %w (it has %d)", number, store.ErrNotFound, len(p.Steps))
	}
	return &p.Steps[number-1], nil
}

// checkStep returns an error if a step does not exist. 0 is valid and stands for no step.
func (r *Run) checkStep(ctx context.Context, number int) error {
	if number == 0 {
		return nil
	}
	_, err := r.changeStep(ctx, number, func(*frames.PlanStep) (bool, error) { return false, nil })
	return err
}

// wrote records that a step wrote a frame. If number is 0, it is the only progressing step.
func (r *Run) wrote(ctx context.Context, number int, id uint64) error {
	return r.note(ctx, number, func(s *frames.PlanStep) error {
		s.Produce(id)
		return nil
	})
}

// Read records that the only progressing step read frames.
func (r *Run) Read(ctx context.Context, ids []uint64) error {
	if len(ids) == 0 {
		return nil
	}
	return r.note(ctx, 0, func(s *frames.PlanStep) error {
		for _, id := range ids {
			if _, known := slices.BinarySearch(s.IFrames, id); known {
				continue
			}
			if there, err := r.hasFrame(ctx, id); err != nil {
				return err
			} else if there {
				s.Consume(id)
			}
		}
		return nil
	})
}

// NotNoted is the warning about frames that could not be noted with the step that read them.
func NotNoted(ctx context.Context, err error) string {
	return "the plan does not name the frames that its step has read: " + observe.Text(ctx, err)
}

// hasFrame reports whether the run has a frame, in its window or not.
func (r *Run) hasFrame(ctx context.Context, id uint64) (bool, error) {
	found, err := r.Frames(ctx, id, 1)
	return len(found) == 1 && found[0].ID == id, err
}

// note calls note for a step and stores the plan. If number is 0, it is the only progressing
// step; without one nothing happens.
func (r *Run) note(ctx context.Context, number int, note func(*frames.PlanStep) error) error {
	run := r.run
	_, err := run.ChangePlan(ctx, func(p *frames.Plan) (*frames.Plan, error) {
		if p == nil || number > len(p.Steps) {
			return nil, nil
		}
		at := number - 1
		if number == 0 {
			at = p.Current()
		}
		if at < 0 {
			return nil, nil
		}
		s := &p.Steps[at]
		before := len(s.IFrames) + len(s.OFrames)
		if err := note(s); err != nil {
			return nil, err
		}
		if len(s.IFrames)+len(s.OFrames) == before {
			return nil, nil
		}
		return p, nil
	})
	return err
}

// TakeSnapshot stores a snapshot of the frames in the window of the run.
func (r *Run) TakeSnapshot(ctx context.Context, label string) (frames.Snapshot, error) {
	plans, err := r.Plans(ctx)
	if err != nil || len(plans) == 0 {
		return r.takeSnapshot(ctx, label, nil, 0)
	}
	plan := &plans[len(plans)-1]
	return r.takeSnapshot(ctx, label, plan, plan.Current()+1)
}

func (r *Run) takeSnapshot(ctx context.Context, label string, plan *frames.Plan, step int) (frames.Snapshot, error) {
	seen, err := r.Window(ctx)
	if err != nil {
		return frames.Snapshot{}, err
	}
	s := frames.TakeSnapshot(seen, label, time.Time{})
	if plan != nil {
		s.Plan, s.Step = plan.ObjectID, uint32(step)
	}
	run := r.run
	return run.AddSnapshot(ctx, s)
}

// Snapshots returns the snapshots of the run, oldest first.
func (r *Run) Snapshots(ctx context.Context) ([]frames.Snapshot, error) {
	run := r.run
	return run.Snapshots(ctx)
}

// Snapshot returns a snapshot by its number.
func (r *Run) Snapshot(ctx context.Context, number uint64) (*frames.Snapshot, error) {
	list, err := r.Snapshots(ctx)
	if err != nil {
		return nil, err
	}
	for i := range list {
		if list[i].ID == number {
			return &list[i], nil
		}
	}
	return nil, fmt.Errorf("run %q: snapshot %d: %w", r.run.ID, number, store.ErrNotFound)
}
