package frames

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/anchor-host/anchor-host/internal/decode"
)

// Plan is one revision of the way to fulfil an intent. A plan links to frames, but frames
// do not link to plans. Programs store it as a document. It is not safe for concurrent use.
type Plan struct {
	Header
	// Previous is the plan that this one replaces.
	Previous UUID
	// Pipeline is the id of the pipeline that has the visible frames.
	Pipeline UUID
	// FWindow is the range of positions in the frame list that was visible while planning.
	// nil means that there is no pipeline, or that all frames were visible. git-internal uses
	// it. It is no longer meaningful once a frame was evicted.
	FWindow *Positions
	// ContextFrames are the ids of the frames that were visible while planning. They always
	// name the same frames.
	ContextFrames []uint64
	Steps         []PlanStep
}

// NewPlan returns a first plan: without previous, pipeline, range and steps. A zero
// time means now.
func NewPlan(creator Actor, at time.Time) (*Plan, error) {
	header, err := NewHeader(TypePlan, creator, at)
	if err != nil {
		return nil, fmt.Errorf("plan: %w", err)
	}
	return &Plan{Header: header}, nil
}

// NewRevision returns a plan whose only content is the link to p.
func (p *Plan) NewRevision(creator Actor, at time.Time) (*Plan, error) {
	next, err := NewPlan(creator, at)
	if err != nil {
		return nil, err
	}
	next.Previous = p.ObjectID
	return next, nil
}

// Current returns the index of the step that is progressing. It returns -1 if no step is
// progressing, or more than one.
func (p *Plan) Current() int {
	at := -1
	for i := range p.Steps {
		if p.Steps[i].Status() != StepProgressing {
			continue
		}
		if at >= 0 {
			return -1
		}
		at = i
	}
	return at
}

// See records the visible frames: their pipeline, positions and ids.
func (p *Plan) See(w Window) {
	positions := w.Positions
	p.Pipeline, p.FWindow, p.ContextFrames = w.Pipeline, &positions, w.IDs()
}

// Visible returns the frames that were visible to the plan, including those that were
// evicted since. For a plan that has only positions it returns the frames at these
// positions now. These are the right ones as long as no frame was evicted.
func (p *Plan) Visible(ctx context.Context, from *Pipeline) ([]Frame, error) {
	switch {
	case p.Pipeline != from.ID():
		return nil, fmt.Errorf("plan %s: frames of pipeline %s: %w (want pipeline %s)", p.ObjectID, from.ID(), ErrNoFrame, p.Pipeline)
	case len(p.ContextFrames) > 0:
		return from.Recall(ctx, p.ContextFrames...)
	case p.FWindow != nil:
		return from.Window().Slice(*p.FWindow).Frames, nil
	}
	return from.Window().Frames, nil
}

// MarshalJSON writes one object with the keys of the header and those of the plan. Absent
// fields are left out.
func (p Plan) MarshalJSON() ([]byte, error) {
	if p.Steps == nil {
		p.Steps = []PlanStep{}
	}
	return json.Marshal(struct {
		Header
		Previous      UUID       `json:"previous,omitzero"`
		Pipeline      UUID       `json:"pipeline,omitzero"`
		FWindow       *Positions `json:"fwindow,omitempty"`
		ContextFrames []uint64   `json:"context_frames,omitempty"`
		Steps         []PlanStep `json:"steps"`
	}{p.Header, p.Previous, p.Pipeline, p.FWindow, p.ContextFrames, p.Steps})
}

// UnmarshalJSON reads a plan strictly: unknown and repeated keys and a header of another
// type are errors. It does not check whether the frames and plans that the plan names
// exist. On an error the plan is unchanged.
func (p *Plan) UnmarshalJSON(data []byte) error {
	var read Plan
	err := decode.Object(data, read.members(
		decode.Optional("previous", &read.Previous), decode.Optional("pipeline", &read.Pipeline), decode.Optional("fwindow", &read.FWindow),
		decode.Optional("context_frames", &read.ContextFrames), decode.Optional("steps", &read.Steps))...)
	if err == nil {
		err = read.check(TypePlan)
	}
	if err != nil {
		return fmt.Errorf("plan: %w", err)
	}
	for i := range read.Steps {
		read.Steps[i].dateFirst(read.CreatedAt)
	}
	*p = read
	return nil
}
