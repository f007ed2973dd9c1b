package frames

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/anchor-host/anchor-host/internal/decode"
	"github.com/anchor-host/anchor-host/pipeline"
)

// Snapshot records what the window of a run held at one moment, such as the beginning of a
// step. It names frames. Frames never change, so they can be read after they have left the
// window. git-internal calls it ContextSnapshot.
type Snapshot struct {
	// ID is the number of the snapshot in its run, from 1; 0 until it is stored.
	ID uint64
	// Label says why the snapshot was taken.
	Label string
	// Plan is the plan of that moment. Step is the number of its step, from 1; 0 means
	// none.
	Plan UUID
	Step uint32
	// Pipeline is the id of the pipeline that has the frames. It is zero if the run had no
	// frames.
	Pipeline UUID
	// FWindow are the positions of the frames in the frame list of that moment, and
	// ContextFrames are their ids.
	FWindow       Positions
	ContextFrames []uint64
	// Tokens is the sum of the estimates of the frames, see [Window.TotalTokenEstimate].
	Tokens        uint64
	GlobalSummary string
	CreatedAt     time.Time
}

// TakeSnapshot returns a snapshot of a pipeline. nil means a run without frames. A zero
// time means now.
func TakeSnapshot(p *Pipeline, label string, at time.Time) Snapshot {
	s := Snapshot{Label: label, ContextFrames: []uint64{}, CreatedAt: orNow(at)}
	if p != nil {
		w := p.Window()
		s.Pipeline, s.FWindow, s.ContextFrames = w.Pipeline, w.Positions, w.IDs()
		s.Tokens, s.GlobalSummary = w.TotalTokenEstimate(), p.GlobalSummary()
	}
	return s
}

// SnapshotDiff describes the changes from one snapshot to a later one.
type SnapshotDiff struct {
	// Entered are the ids of the frames that only the later snapshot has. Left are the ids
	// of the frames that only the earlier one has.
	Entered []uint64 `json:"entered"`
	Left    []uint64 `json:"left"`
	// Tokens is the growth of the estimate. It is negative if the estimate has shrunk.
	Tokens int64 `json:"tokens"`
	// SummaryChanged means that the global summaries differ.
	SummaryChanged bool `json:"summary_changed"`
}

// Diff compares an earlier snapshot with a later one.
func (s *Snapshot) Diff(later *Snapshot) SnapshotDiff {
	only := func(in, not []uint64) []uint64 {
		return slices.DeleteFunc(slices.Concat([]uint64{}, in), func(id uint64) bool {
			_, found := slices.BinarySearch(not, id)
			return found
		})
	}
	return SnapshotDiff{
		Entered: only(later.ContextFrames, s.ContextFrames), Left: only(s.ContextFrames, later.ContextFrames),
		Tokens: int64(later.Tokens) - int64(s.Tokens), SummaryChanged: s.GlobalSummary != later.GlobalSummary,
	}
}

// MarshalJSON leaves out absent fields.
func (s Snapshot) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		ID            uint64    `json:"snapshot_id,omitempty"`
		Label         string    `json:"label"`
		Plan          UUID      `json:"plan,omitzero"`
		Step          uint32    `json:"step,omitempty"`
		Pipeline      UUID      `json:"pipeline,omitzero"`
		FWindow       Positions `json:"fwindow"`
		ContextFrames []uint64  `json:"context_frames"`
		Tokens        uint64    `json:"total_token_estimate"`
		GlobalSummary string    `json:"global_summary,omitempty"`
		CreatedAt     time.Time `json:"created_at"`
	}{s.ID, s.Label, s.Plan, s.Step, s.Pipeline, s.FWindow, s.ContextFrames, s.Tokens, s.GlobalSummary, s.CreatedAt})
}

// UnmarshalJSON reads a snapshot strictly: unknown and repeated keys, and ids that do not
// ascend, are errors. On an error the snapshot is unchanged.
func (s *Snapshot) UnmarshalJSON(data []byte) error {
	var read Snapshot
	err := decode.Object(data,
		decode.Optional("snapshot_id", &read.ID), decode.Required("label", &read.Label), decode.Optional("plan", &read.Plan),
		decode.Optional("step", &read.Step), decode.Optional("pipeline", &read.Pipeline), decode.Required("fwindow", &read.FWindow),
		decode.Required("context_frames", &read.ContextFrames), decode.Required("total_token_estimate", &read.Tokens),
		decode.Optional("global_summary", &read.GlobalSummary), decode.Required("created_at", &read.CreatedAt))
	if err != nil {
		return fmt.Errorf("snapshot: %w", err)
	}
	for i, id := range read.ContextFrames {
		if id > MaxFrameID || i > 0 && id <= read.ContextFrames[i-1] {
			return fmt.Errorf("snapshot: context_frames[%d]: %d: %w (want ascending ids up to %d)", i, id, pipeline.ErrInvalid, uint64(MaxFrameID))
		}
	}
	if err := cleanTime(&read.CreatedAt); err != nil {
		return fmt.Errorf("snapshot: created_at: %w", err)
	}
	*s = read
	return nil
}
