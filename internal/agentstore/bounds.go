package agentstore

import (
	"fmt"

	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/pipeline/frames"
)

// The bounds of plans and intents, however they get into a run: by a call, a command or an
// import. They count what callers write, without the numbers of frames.
const (
	// MaxSteps is the maximum number of steps of a plan.
	MaxSteps = 1000
	// MaxStepText is the maximum size of a description or a reason, in bytes.
	MaxStepText = 16 << 10
	// MaxStepData is the maximum size of the inputs, the outputs or the checks of a step, in bytes.
	MaxStepData = 256 << 10
	// MaxPlan is the maximum size of all of these in one plan, in bytes.
	MaxPlan = 1 << 20
	// MaxIntent is the maximum size of prompt, content and reasons of an intent, in bytes.
	MaxIntent = 1 << 20
)

// BoundPlan returns an error that wraps [pipeline.ErrInvalid] if a plan exceeds a bound.
func BoundPlan(p *frames.Plan) error {
	if len(p.Steps) > MaxSteps {
		return fmt.Errorf("plan: %w: %d steps (want at most %d)", pipeline.ErrInvalid, len(p.Steps), MaxSteps)
	}
	for i := range p.Steps {
		if err := boundStep(&p.Steps[i]); err != nil {
			return fmt.Errorf("plan: step %d: %w", i+1, err)
		}
	}
	if n := SizeOfPlan(p); n > MaxPlan {
		return fmt.Errorf("plan: %w: its steps have %d bytes (want at most %d: keep long texts in frames or files)", pipeline.ErrInvalid, n, MaxPlan)
	}
	return nil
}

func boundStep(s *frames.PlanStep) error {
	if len(s.Description) > MaxStepText {
		return fmt.Errorf("description: %w: %d bytes (want at most %d)", pipeline.ErrInvalid, len(s.Description), MaxStepText)
	}
	for _, e := range s.Statuses() {
		if len(e.Reason) > MaxStepText {
			return fmt.Errorf("reason: %w: %d bytes (want at most %d)", pipeline.ErrInvalid, len(e.Reason), MaxStepText)
		}
	}
	for _, m := range []struct {
		name string
		size int
	}{{"inputs", len(s.Inputs)}, {"outputs", len(s.Outputs)}, {"checks", len(s.Checks)}} {
		if m.size > MaxStepData {
			return fmt.Errorf("%s: %w: %d bytes (want at most %d)", m.name, pipeline.ErrInvalid, m.size, MaxStepData)
		}
	}
	return nil
}

// SizeOfPlan returns the size of what callers wrote into a plan, in bytes.
func SizeOfPlan(p *frames.Plan) int {
	total := 0
	for i := range p.Steps {
		s := &p.Steps[i]
		total += len(s.Description) + len(s.Inputs) + len(s.Outputs) + len(s.Checks)
		for _, e := range s.Statuses() {
			total += len(e.Reason)
		}
	}
	return total
}

// BoundIntent returns an error that wraps [pipeline.ErrInvalid] if an intent exceeds [MaxIntent].
func BoundIntent(in *frames.Intent) error {
	n := len(in.Prompt()) + len(in.Content) + len(in.Commit)
	for _, e := range in.Statuses() {
		n += len(e.Reason)
	}
	if n > MaxIntent {
		return fmt.Errorf("intent: %w: %d bytes (want at most %d: keep long texts in frames or files)", pipeline.ErrInvalid, n, MaxIntent)
	}
	return nil
}
