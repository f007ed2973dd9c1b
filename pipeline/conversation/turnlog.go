package conversation

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/pipeline/core"
)

// TurnLog stores a conversation. A conversation calls it from one goroutine at a time.
type TurnLog interface {
	// AppendTurn stores a turn durably and returns its sequence number, which is higher
	// than any before. The turn is complete, even if the window cuts it, and has no number
	// yet.
	AppendTurn(ctx context.Context, t pipeline.Turn) (sequence int64, err error)
	// SaveDigest stores which turns have left, and their summary. It replaces the digest
	// before.
	SaveDigest(ctx context.Context, d Digest) error
}

// TurnsLog is a [TurnLog] that stores several turns at the cost of one. Turns that are
// added to a conversation at the same time then share an append.
type TurnsLog interface {
	TurnLog
	// AppendTurns stores turns as AppendTurn does, all or none, and returns the number of
	// the first; the others follow without a gap. An error that wraps [ErrInvalid] means
	// that none was stored, because one of them is invalid. The conversation then appends
	// each alone.
	AppendTurns(ctx context.Context, turns []pipeline.Turn) (first int64, err error)
}

// CondensedLog is a [TurnLog] of a conversation that others may change at the same time.
type CondensedLog interface {
	TurnLog
	// SaveCondensed stores the digest after turns with these numbers were condensed. It
	// stores nothing if another digest reaches further than d. If one of the turns is
	// deleted, it stores nothing and returns [store.ErrConflict].
	SaveCondensed(ctx context.Context, d Digest, turns []int64) error
}

// Digest describes the turns that have left a conversation. Together with the turns of a
// [TurnLog] it restores the conversation.
type Digest struct {
	// Text is the summary, empty when there is none.
	Text string `json:"text"`
	// Listed is how many bytes at the end of Text are a list of turns that the compactor
	// has not condensed, because it failed. When the list takes too much room, its oldest
	// lines leave, and the summary before it stays.
	Listed int `json:"listed,omitempty"`
	// Count is how many times turns were condensed into the summary.
	Count int64 `json:"count"`
	// Through is the highest sequence number of a turn that has left. All turns up to it
	// have left, except those whose numbers are in Kept, in ascending order.
	Through int64   `json:"through"`
	Kept    []int64 `json:"kept,omitempty"`
	// Time is the time of the newest turn that has left.
	Time time.Time `json:"time,omitzero"`
}

// summaryPriority and summaryScore place a summary below the turns it precedes.
const (
	summaryPriority = 6
	summaryScore    = 0.5
)

// digest is a Digest with the tokens of its text.
type digest struct {
	Digest
	tokens int
}

// item returns the summary as an item. Its time and number place it before the remaining
// turns. The metadata listed is set if the summary ends with a list of turns.
func (d *digest) item(turns []core.Turn) pipeline.Item {
	at, sequence := d.Time, d.Through
	if len(turns) > 0 {
		sequence = min(sequence, turns[0].Sequence-1)
		if first := turns[0].CreatedAt; first.Before(at) {
			at = first
		}
	}
	metadata := map[string]any{"role": string(pipeline.RoleSystem), "summary": true}
	if d.Listed > 0 {
		metadata["listed"] = true
	}
	return pipeline.Item{
		ID:         fmt.Sprintf("summary-%d", d.Count),
		Content:    d.Text,
		Source:     pipeline.SourceConversation,
		Score:      summaryScore,
		Priority:   summaryPriority,
		TokenCount: d.tokens,
		Metadata:   metadata,
		CreatedAt:  at,
		Sequence:   sequence,
	}
}

// past is what has left a window.
type past struct {
	settled digest          // the summary, as the log has it
	leaving []pipeline.Turn // the turns that left and wait for the compactor, by number
	late    string          // a list of turns given up since the running compaction began
	shown   digest          // settled, followed by a list of leaving
}

// mark notes in a digest that turns have left and that others have stayed. Both are ordered by
// number, and there is at least one that has left.
func mark(d *Digest, gone, kept []pipeline.Turn) {
	if newest := &gone[len(gone)-1]; newest.Sequence > d.Through {
		d.Through, d.Time = newest.Sequence, newest.CreatedAt
	}
	d.Kept = nil
	for i := range kept {
		if kept[i].Sequence > d.Through {
			break
		}
		d.Kept = append(d.Kept, kept[i].Sequence)
	}
}

// byNumber returns the turns of two lists, ordered by number.
func byNumber(a, b []pipeline.Turn) []pipeline.Turn {
	all := slices.Concat(a, b)
	slices.SortStableFunc(all, func(a, b pipeline.Turn) int { return cmp.Compare(a.Sequence, b.Sequence) })
	return all
}
