package frames

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/anchor-host/anchor-host/internal/decode"
	"github.com/anchor-host/anchor-host/pipeline"
)

// PlanStep is one unit of work of a plan.
type PlanStep struct {
	Description string
	Inputs      json.RawMessage // any JSON; nil is none
	Outputs     json.RawMessage
	Checks      json.RawMessage
	// IFrames are the ids of the frames that the step has read, and OFrames the ids of
	// those that it has written. Nothing checks whether such frames exist.
	IFrames, OFrames []uint64
	// Task is the id of the task that executes the step, if there is one.
	Task UUID

	statuses history[StepStatus]
}

// NewStep returns a pending step. A zero time means now.
func NewStep(description string, at time.Time) PlanStep {
	s := PlanStep{Description: description}
	s.statuses.entries = []StatusEntry[StepStatus]{{Status: StepPending, ChangedAt: orNow(at)}}
	return s
}

// Status returns the current status. A step without statuses is pending.
func (s *PlanStep) Status() StepStatus { return s.statuses.last(StepPending) }

// Statuses returns a copy of the history, oldest first.
func (s *PlanStep) Statuses() []StatusEntry[StepStatus] { return slices.Clone(s.statuses.entries) }

// SetStatus appends a status, whatever the current one is. Statuses are never removed. The
// reason may be empty, and a zero time means now. Use SetStatus for plans that other
// programs have written, and [PlanStep.Advance] otherwise.
func (s *PlanStep) SetStatus(status StepStatus, reason string, at time.Time) error {
	if err := s.statuses.add(status, reason, at, stepStatuses); err != nil {
		return fmt.Errorf("step %.40q: %w", s.Description, err)
	}
	return nil
}

// Advance appends a status that may follow the current one, as [StepStatus] says. For any
// other status the error is [ErrLifecycle].
func (s *PlanStep) Advance(status StepStatus, reason string, at time.Time) error {
	if err := follows(s.Status(), status, stepLifecycle); err != nil {
		return fmt.Errorf("step %.40q: %w", s.Description, err)
	}
	return s.SetStatus(status, reason, at)
}

// Consume adds frames that the step has read to IFrames. The list stays sorted, and has
// each frame once.
func (s *PlanStep) Consume(ids ...uint64) { s.IFrames = union(s.IFrames, ids) }

// Produce adds frames that the step has written to OFrames, as [PlanStep.Consume] does to
// IFrames.
func (s *PlanStep) Produce(ids ...uint64) { s.OFrames = union(s.OFrames, ids) }

func union(a, b []uint64) []uint64 {
	all := slices.Concat(a, b)
	slices.Sort(all)
	return slices.Compact(all)
}

// MarshalJSON leaves out absent fields.
func (s PlanStep) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Description string              `json:"description"`
		Inputs      json.RawMessage     `json:"inputs,omitempty"`
		Outputs     json.RawMessage     `json:"outputs,omitempty"`
		Checks      json.RawMessage     `json:"checks,omitempty"`
		IFrames     []uint64            `json:"iframes,omitempty"`
		OFrames     []uint64            `json:"oframes,omitempty"`
		Task        UUID                `json:"task,omitzero"`
		Statuses    history[StepStatus] `json:"statuses"`
	}{s.Description, s.Inputs, s.Outputs, s.Checks, s.IFrames, s.OFrames, s.Task, s.statuses})
}

// UnmarshalJSON reads a step strictly. The key of the description may also be intent. A
// step without statuses is pending since its plan was created. On an error the step is
// unchanged.
func (s *PlanStep) UnmarshalJSON(data []byte) error {
	var read PlanStep
	var description, intent *string
	var statuses json.RawMessage
	err := decode.Object(data,
		decode.Optional("description", &description), decode.Optional("intent", &intent),
		decode.Optional("inputs", &read.Inputs), decode.Optional("outputs", &read.Outputs), decode.Optional("checks", &read.Checks),
		decode.Optional("iframes", &read.IFrames), decode.Optional("oframes", &read.OFrames), decode.Optional("task", &read.Task),
		decode.Optional("statuses", &statuses), decode.Optional("status", nil)) // older documents have it
	if err != nil {
		return fmt.Errorf("step: %w", err)
	}
	if (description == nil) == (intent == nil) {
		return fmt.Errorf("step: %w (want either description or intent)", pipeline.ErrInvalid)
	}
	read.Description = *cmp.Or(description, intent)
	return s.finish(&read, statuses)
}

func (s *PlanStep) finish(read *PlanStep, statuses json.RawMessage) error {
	for _, value := range []*json.RawMessage{&read.Inputs, &read.Outputs, &read.Checks} {
		clean, err := cleanJSON(*value)
		if err != nil {
			return fmt.Errorf("step: %w", err)
		}
		*value = clean
	}
	if statuses == nil {
		read.statuses.entries = []StatusEntry[StepStatus]{{Status: StepPending}}
	} else if err := read.statuses.decode(statuses, stepStatuses); err != nil {
		return fmt.Errorf("step: %w", err)
	}
	*s = *read
	return nil
}

// dateFirst sets the time of a first status that has none.
func (s *PlanStep) dateFirst(at time.Time) {
	if len(s.statuses.entries) > 0 && s.statuses.entries[0].ChangedAt.IsZero() {
		s.statuses.entries[0].ChangedAt = at
	}
}
