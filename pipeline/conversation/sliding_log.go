package conversation

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/pipeline/core"
	"github.com/anchor-host/anchor-host/pipeline/internal/values"
	"github.com/anchor-host/anchor-host/store"
)

// KeepsDigest reports whether the conversation saves a digest when turns leave: with a
// Compactor, an Eviction or a LowWater, the window does not follow from the newest turns alone.
func (s *SlidingWindow) KeepsDigest() bool {
	return s.cfg.Compactor != nil || s.cfg.Eviction != nil || s.cfg.LowWater < s.cfg.MaxTokens
}

// record writes the digest of the turns that leave, and the turns of a group, to the log,
// if there is one. It returns the number of the first turn. The digest goes first: a crash
// between the two leaves a conversation that has a little room, not one that has lost a
// turn.
func (s *SlidingWindow) record(g *group) (first int64, err error) {
	if s.cfg.Log == nil {
		return s.last + 1, nil
	}
	ctx, done := g.context()
	defer done()
	if g.settles && s.KeepsDigest() {
		left := s.past.leaving
		for _, a := range g.additions {
			left = byNumber(left, a.evicted)
		}
		if g.past, err = s.saveLeft(ctx, g.past, missing(left, g.past.leaving)); err != nil {
			return 0, err
		}
	}
	err = core.Guard(func() (err error) {
		first, err = s.store(ctx, g.additions)
		return err
	})
	g.stored = err == nil
	switch {
	case err != nil:
		return 0, fmt.Errorf("conversation: store turn: %w", err)
	case first <= s.last:
		return 0, fmt.Errorf("conversation: store turn: sequence %d after %d: %w (the conversation was continued elsewhere: open it again)", first, s.last, pipeline.ErrInvalid)
	}
	return first, nil
}

// store appends the whole turns to the log.
func (s *SlidingWindow) store(ctx context.Context, additions []*addition) (int64, error) {
	if len(additions) == 1 {
		return s.cfg.Log.AppendTurn(ctx, additions[0].whole)
	}
	log, ok := s.cfg.Log.(TurnsLog)
	if !ok {
		return 0, fmt.Errorf("%d turns at once: %w (want a log of several turns)", len(additions), pipeline.ErrInvalid)
	}
	turns := make([]pipeline.Turn, len(additions))
	for i, a := range additions {
		turns[i] = a.whole
	}
	return log.AppendTurns(ctx, turns)
}

// saveLeft saves the digest of a past after turns have left. If somebody deleted one of them meanwhile,
// it saves nothing, and the past keeps the summary before: nobody may see them again. adding must be
// held.
func (s *SlidingWindow) saveLeft(ctx context.Context, p past, turns []pipeline.Turn) (past, error) {
	err := s.saveCondensed(ctx, p.settled.Digest, turns)
	if !errors.Is(err, store.ErrConflict) {
		return p, err
	}
	s.cfg.Logger.WarnContext(ctx, "turns that were deleted meanwhile leave without a summary", "error", err)
	d := p.settled.Digest
	d.Text, d.Listed = s.past.settled.Text, s.past.settled.Listed
	if p.late != "" {
		p.late = s.past.late
	}
	if p.settled, err = s.countDigest(ctx, d); err == nil {
		p, err = s.show(ctx, p)
	}
	return p, err
}

// missing returns the turns of a list that are not in another, by their numbers.
func missing(list, other []pipeline.Turn) []pipeline.Turn {
	there := make(map[int64]bool, len(other))
	for i := range other {
		there[other[i].Sequence] = true
	}
	return slices.DeleteFunc(slices.Clone(list), func(t pipeline.Turn) bool { return there[t.Sequence] })
}

// saveCondensed saves the digest after turns have left.
func (s *SlidingWindow) saveCondensed(ctx context.Context, d Digest, turns []pipeline.Turn) error {
	log, ok := s.cfg.Log.(CondensedLog)
	if !ok {
		return s.saveDigest(ctx, d)
	}
	numbers := make([]int64, len(turns))
	for i := range turns {
		numbers[i] = turns[i].Sequence
	}
	if err := core.Guard(func() error { return log.SaveCondensed(ctx, d, numbers) }); err != nil {
		return fmt.Errorf("conversation: store digest: %w", err)
	}
	return nil
}

func (s *SlidingWindow) saveDigest(ctx context.Context, d Digest) error {
	if s.cfg.Log == nil {
		return nil
	}
	err := core.Guard(func() error { return s.cfg.Log.SaveDigest(ctx, d) })
	if err != nil {
		return fmt.Errorf("conversation: store digest: %w", err)
	}
	return nil
}

// loadWait bounds how long Restore waits for a compactor.
const loadWait = 5 * time.Second

// Restore replaces the conversation by the state from a log: the last saved digest, which
// is zero if there is none, and the turns that have not left, by ascending sequence number.
// It counts tokens again. If the turns do not fit, for example because others added them or
// MaxTokens is smaller than before, some leave as in [SlidingWindow.AddTurn]. Restore then
// waits for the compaction that it begins, at most 5 seconds. On an error nothing has changed.
func (s *SlidingWindow) Restore(ctx context.Context, d Digest, turns []pipeline.Turn) error {
	evicted, began, err := s.restore(ctx, d, turns)
	if err != nil {
		return err
	}
	s.tell(ctx, evicted)
	if began == nil {
		return nil
	}
	if !s.cfg.CompactInline {
		if len(evicted) == 0 {
			return nil
		}
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, loadWait)
		defer cancel()
	}
	_ = began.wait(ctx) // the conversation is restored
	return nil
}

func (s *SlidingWindow) restore(ctx context.Context, d Digest, turns []pipeline.Turn) (evicted []pipeline.Turn, began *compaction, err error) {
	s.adding.Lock()
	defer s.adding.Unlock()
	turns, err = s.recount(ctx, turns)
	if err != nil {
		return nil, nil, err
	}
	p, err := s.restoredPast(ctx, d)
	if err != nil {
		return nil, nil, err
	}
	last := d.Through
	if len(turns) > 0 {
		last = max(last, turns[len(turns)-1].Sequence)
	}
	tokens := sumTokens(turns)
	next, err := s.choose(turns, s.excess(tokens, 0))
	if err == nil && len(next.evicted) > 0 {
		p, err = s.passOn(ctx, p, next.kept, next.evicted)
	}
	if err != nil {
		return nil, nil, err
	}
	if len(next.evicted) > 0 && s.cfg.Compactor == nil && s.KeepsDigest() {
		// If it cannot be saved, the next Restore makes the same choice.
		if p, err = s.saveLeft(ctx, p, next.evicted); err != nil && !errors.Is(err, store.ErrReadOnly) {
			return nil, nil, err
		}
	}
	s.drop()
	s.mu.Lock()
	s.turns, s.tokens, s.past, s.last = next.kept, tokens-next.freed, p, last
	s.mu.Unlock()
	began, why := s.begin(ctx)
	if why == rests {
		s.settle(ctx)
	}
	return next.evicted, began, nil
}

// restoredPast returns the past that a digest from a log describes.
func (s *SlidingWindow) restoredPast(ctx context.Context, d Digest) (past, error) {
	if d.Listed <= 0 || d.Listed > len(d.Text) {
		d.Listed = 0
	}
	text, err := s.bounded(ctx, d.Text[:len(d.Text)-d.Listed], s.cfg.SummaryTokens)
	if err != nil {
		return past{}, err
	}
	d.Text = text + d.Text[len(d.Text)-d.Listed:]
	settled, err := s.countDigest(ctx, d)
	return past{settled: settled, shown: settled}, err
}

// recount checks turns from a log, and counts and cuts them.
func (s *SlidingWindow) recount(ctx context.Context, turns []pipeline.Turn) ([]pipeline.Turn, error) {
	turns = core.CloneTurns(turns)
	texts := make([]string, len(turns))
	last := int64(0)
	for i := range turns {
		t := &turns[i]
		if err := t.Validate(); err != nil {
			return nil, fmt.Errorf("conversation: turn %d: %w", t.Sequence, err)
		}
		if t.Sequence <= last {
			return nil, fmt.Errorf("conversation: turn %d follows turn %d: %w (want ascending numbers from 1)", t.Sequence, last, pipeline.ErrInvalid)
		}
		last, texts[i] = t.Sequence, countedText(t)
	}
	counts, err := core.CountTexts(ctx, s.cfg.Tokenizer, texts)
	if err != nil {
		return nil, fmt.Errorf("conversation: %w", err)
	}
	for i := range turns {
		turns[i].TokenCount = values.Add(counts[i], s.cfg.mediaOf(&turns[i]))
		if turns[i], err = s.cut(ctx, turns[i]); err != nil {
			return nil, err
		}
	}
	return turns, nil
}
