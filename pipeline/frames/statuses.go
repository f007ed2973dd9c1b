package frames

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/anchor-host/anchor-host/internal/decode"
	"github.com/anchor-host/anchor-host/pipeline"
)

// StepStatus is the progress of a plan step. Pending is followed by progressing, and
// progressing by completed. Failed or skipped may follow both. Completed, failed and
// skipped are final. PlanStep.Advance enforces this order.
type StepStatus string

// The statuses of a step.
const (
	StepPending     StepStatus = "pending"
	StepProgressing StepStatus = "progressing"
	StepCompleted   StepStatus = "completed"
	StepFailed      StepStatus = "failed"
	StepSkipped     StepStatus = "skipped"
)

// IntentStatus is the progress of an intent. Draft is followed by active, and active by
// completed. Cancelled may follow both. Completed and cancelled are final. Intent.Advance
// enforces this order.
type IntentStatus string

// The statuses of an intent.
const (
	IntentDraft     IntentStatus = "draft"
	IntentActive    IntentStatus = "active"
	IntentCompleted IntentStatus = "completed"
	IntentCancelled IntentStatus = "cancelled"
)

var (
	stepStatuses   = []StepStatus{StepPending, StepProgressing, StepCompleted, StepFailed, StepSkipped}
	intentStatuses = []IntentStatus{IntentDraft, IntentActive, IntentCompleted, IntentCancelled}
)

// ErrLifecycle means that a status cannot follow the current one. It wraps
// [pipeline.ErrInvalid].
var ErrLifecycle error = lifecycleError{}

type lifecycleError struct{}

func (lifecycleError) Error() string { return "wrong order of statuses" }

func (lifecycleError) Unwrap() error { return pipeline.ErrInvalid }

// stepLifecycle and intentLifecycle list the statuses that may follow each status.
var (
	stepLifecycle = map[StepStatus][]StepStatus{
		StepPending:     {StepProgressing, StepFailed, StepSkipped},
		StepProgressing: {StepCompleted, StepFailed, StepSkipped},
	}
	intentLifecycle = map[IntentStatus][]IntentStatus{
		IntentDraft:  {IntentActive, IntentCancelled},
		IntentActive: {IntentCompleted, IntentCancelled},
	}
)

// StatusEntry is one change of status.
type StatusEntry[S StepStatus | IntentStatus] struct {
	Status    S         `json:"status"`
	ChangedAt time.Time `json:"changed_at"`
	Reason    string    `json:"reason,omitempty"`
}

// history is an append-only list of statuses.
type history[S StepStatus | IntentStatus] struct{ entries []StatusEntry[S] }

func (h *history[S]) add(status S, reason string, at time.Time, known []S) error {
	if !slices.Contains(known, status) {
		return fmt.Errorf("status %.100q: %w (want one of %v)", status, pipeline.ErrInvalid, known)
	}
	h.entries = append(h.entries, StatusEntry[S]{Status: status, ChangedAt: orNow(at), Reason: reason})
	return nil
}

// follows returns an error if a status cannot follow the current one.
func follows[S StepStatus | IntentStatus](now, next S, lifecycle map[S][]S) error {
	may := lifecycle[now]
	switch {
	case slices.Contains(may, next):
		return nil
	case len(may) == 0:
		return fmt.Errorf("%.100q after %q: %w (%s is final)", next, now, ErrLifecycle, now)
	}
	return fmt.Errorf("%.100q after %q: %w (want one of %v)", next, now, ErrLifecycle, may)
}

func (h *history[S]) last(first S) S {
	if n := len(h.entries); n > 0 {
		return h.entries[n-1].Status
	}
	return first
}

// decode reads a list of entries.
func (h *history[S]) decode(data json.RawMessage, known []S) error {
	var list []json.RawMessage
	if err := decode.Value("statuses", data, &list); err != nil {
		return err
	}
	h.entries = make([]StatusEntry[S], len(list))
	for i, raw := range list {
		e := &h.entries[i]
		err := decode.Object(raw, decode.Required("status", &e.Status), decode.Required("changed_at", &e.ChangedAt), decode.Optional("reason", &e.Reason))
		if err == nil && !slices.Contains(known, e.Status) {
			err = fmt.Errorf("status %.100q: %w (want one of %v)", e.Status, pipeline.ErrInvalid, known)
		}
		if err == nil {
			err = cleanTime(&e.ChangedAt)
		}
		if err != nil {
			return fmt.Errorf("statuses[%d]: %w", i, err)
		}
	}
	return nil
}

// MarshalJSON writes the list.
func (h history[S]) MarshalJSON() ([]byte, error) {
	if h.entries == nil {
		return []byte("[]"), nil
	}
	return json.Marshal(h.entries)
}
