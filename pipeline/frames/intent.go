package frames

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/anchor-host/anchor-host/internal/decode"
	"github.com/anchor-host/anchor-host/pipeline"
)

// Intent is a request, and how the agent understands it. Programs store it as a document.
// It is not safe for concurrent use.
type Intent struct {
	Header
	// Content is the agent's understanding of the prompt. It is empty until the prompt is
	// analyzed.
	Content string
	// Parent is the intent that this one refines, Plan the newest plan for it.
	Parent, Plan UUID
	// Commit names the commit that fulfilled the intent. It is empty if there is none.
	Commit string

	prompt   string
	statuses history[IntentStatus]
}

// NewIntent returns a draft. A zero time means now.
func NewIntent(creator Actor, prompt string, at time.Time) (*Intent, error) {
	header, err := NewHeader(TypeIntent, creator, at)
	if err != nil {
		return nil, fmt.Errorf("intent: %w", err)
	}
	in := &Intent{Header: header, prompt: prompt}
	in.statuses.entries = []StatusEntry[IntentStatus]{{Status: IntentDraft, ChangedAt: header.CreatedAt}}
	return in, nil
}

// Prompt returns the request word for word. It never changes.
func (in *Intent) Prompt() string { return in.prompt }

// Status returns the current status. An intent without statuses is a draft.
func (in *Intent) Status() IntentStatus { return in.statuses.last(IntentDraft) }

// Statuses returns a copy of the history, oldest first.
func (in *Intent) Statuses() []StatusEntry[IntentStatus] { return slices.Clone(in.statuses.entries) }

// SetStatus appends a status, whatever the current one is. Statuses are never removed. The
// reason may be empty, and a zero time means now. Use SetStatus for intents that other
// programs have written, and [Intent.Advance] otherwise.
func (in *Intent) SetStatus(status IntentStatus, reason string, at time.Time) error {
	if err := in.statuses.add(status, reason, at, intentStatuses); err != nil {
		return fmt.Errorf("intent: %w", err)
	}
	return nil
}

// Advance appends a status that may follow the current one, as [IntentStatus] says. For any
// other status the error is [ErrLifecycle].
func (in *Intent) Advance(status IntentStatus, reason string, at time.Time) error {
	if err := follows(in.Status(), status, intentLifecycle); err != nil {
		return fmt.Errorf("intent: %w", err)
	}
	return in.SetStatus(status, reason, at)
}

// Analyze sets the content, which makes a draft active, and returns the frame with which
// the run's pipeline begins. Analyze replaces an existing content. If the intent has ended,
// the error is [ErrLifecycle].
func (in *Intent) Analyze(content string, at time.Time) (Frame, error) {
	if strings.TrimSpace(content) == "" {
		return Frame{}, fmt.Errorf("intent: content is empty: %w (say how the prompt is understood)", pipeline.ErrInvalid)
	}
	if in.Status() != IntentActive {
		if err := in.Advance(IntentActive, "", at); err != nil {
			return Frame{}, err
		}
	}
	in.Content = content
	return Frame{Kind: IntentAnalysis, Summary: content, CreatedAt: orNow(at)}, nil
}

// MarshalJSON writes one object with the keys of the header and those of the intent. Absent
// fields are left out.
func (in Intent) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Header
		Prompt   string                `json:"prompt"`
		Content  string                `json:"content,omitempty"`
		Parent   UUID                  `json:"parent,omitzero"`
		Commit   string                `json:"commit,omitempty"`
		Plan     UUID                  `json:"plan,omitzero"`
		Statuses history[IntentStatus] `json:"statuses"`
	}{in.Header, in.prompt, in.Content, in.Parent, in.Commit, in.Plan, in.statuses})
}

// UnmarshalJSON reads an intent strictly: unknown and repeated keys and a header of
// another type are errors. On an error the intent is unchanged.
func (in *Intent) UnmarshalJSON(data []byte) error {
	var read Intent
	var statuses json.RawMessage
	err := decode.Object(data, read.members(
		decode.Required("prompt", &read.prompt), decode.Optional("content", &read.Content), decode.Optional("parent", &read.Parent),
		decode.Optional("commit", &read.Commit), decode.Optional("plan", &read.Plan), decode.Required("statuses", &statuses))...)
	if err == nil {
		err = read.check(TypeIntent)
	}
	if err == nil {
		err = read.statuses.decode(statuses, intentStatuses)
	}
	if err != nil {
		return fmt.Errorf("intent: %w", err)
	}
	*in = read
	return nil
}
