package memory

import (
	"context"
	"fmt"
	"log/slog"
	"strings"

	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/pipeline/core"
	"github.com/anchor-host/anchor-host/pipeline/internal/warn"
)

// summaryPriority and summaryScore place a summary below the turns it precedes.
const (
	summaryPriority = 6
	summaryScore    = 0.5
)

// CompactFunc makes a function a [Compactor] that condenses the turns that leave now
// and drops the summary so far.
type CompactFunc func(ctx context.Context, turns []pipeline.Turn) (string, error)

// Compact calls f.
func (f CompactFunc) Compact(ctx context.Context, turns []pipeline.Turn, _ string) (string, error) {
	return f(ctx, turns)
}

// ProgressiveCompactFunc makes a function a [Compactor] that works the turns that
// leave now into the summary so far.
type ProgressiveCompactFunc func(ctx context.Context, turns []pipeline.Turn, previous string) (string, error)

// Compact calls f.
func (f ProgressiveCompactFunc) Compact(ctx context.Context, turns []pipeline.Turn, previous string) (string, error) {
	return f(ctx, turns, previous)
}

// digest is a Digest whose text is counted.
type digest struct {
	Digest
	tokens int
}

// Summary returns the text that stands for the turns that have left; empty when
// there are none or no compactor.
func (s *SlidingWindow) Summary() string {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.digest.Text
}

// condense returns the digest before with the evicted turns in it.
func (s *SlidingWindow) condense(ctx context.Context, before digest, kept, evicted []pipeline.Turn) (digest, error) {
	d := before.Digest
	newest := &evicted[len(evicted)-1]
	if newest.Sequence > d.Through {
		d.Through, d.Time = newest.Sequence, newest.CreatedAt
	}
	d.Kept = nil
	for i := range kept {
		if kept[i].Sequence > d.Through {
			break
		}
		d.Kept = append(d.Kept, kept[i].Sequence)
	}
	if s.cfg.Compactor == nil {
		return digest{d, before.tokens}, nil
	}
	text, err := s.compact(ctx, evicted, d.Text)
	if err != nil {
		return before, err
	}
	d.Text = text
	d.Count++
	return s.countDigest(ctx, d)
}

// compact calls the compactor; what it cannot do, a list of the turns does.
func (s *SlidingWindow) compact(ctx context.Context, evicted []pipeline.Turn, previous string) (text string, err error) {
	err = core.Guard(func() (err error) {
		text, err = s.cfg.Compactor.Compact(ctx, core.CloneTurns(evicted), previous)
		return err
	})
	if ended := ctx.Err(); ended != nil {
		return "", fmt.Errorf("conversation: compact %d turns: %w", len(evicted), ended)
	}
	if err != nil {
		warn.Log(ctx, s.cfg.Logger, "compactor failed, turns listed instead", err, slog.Int("turns", len(evicted)))
		text = listTurns(previous, evicted)
	}
	return strings.ToValidUTF8(text, "\uFFFD"), nil
}

func (s *SlidingWindow) countDigest(ctx context.Context, d Digest) (digest, error) {
	if d.Text == "" {
		return digest{Digest: d}, nil
	}
	counts, err := core.CountTexts(ctx, s.cfg.Tokenizer, []string{d.Text})
	if err != nil {
		return digest{}, fmt.Errorf("conversation: summary: %w", err)
	}
	return digest{d, counts[0]}, nil
}

// listTurns is the summary without a compactor's help.
func listTurns(previous string, turns []pipeline.Turn) string {
	lines := make([]string, len(turns))
	for i := range turns {
		lines[i] = string(turns[i].Role) + ": " + turns[i].Content
	}
	text := strings.Join(lines, "; ")
	if previous == "" {
		return text
	}
	return previous + "\n" + text
}

// item returns the summary as an item. Its time and number place it before the turns
// that are left.
func (d *digest) item(turns []pipeline.Turn) pipeline.Item {
	at, sequence := d.Time, d.Through
	if len(turns) > 0 {
		sequence = min(sequence, turns[0].Sequence-1)
		if first := turns[0].CreatedAt; first.Before(at) {
			at = first
		}
	}
	return pipeline.Item{
		ID:         fmt.Sprintf("summary-%d", d.Count),
		Content:    d.Text,
		Source:     pipeline.SourceConversation,
		Score:      summaryScore,
		Priority:   summaryPriority,
		TokenCount: d.tokens,
		Metadata:   map[string]any{"role": string(pipeline.RoleSystem), "summary": true},
		CreatedAt:  at,
		Sequence:   sequence,
	}
}
