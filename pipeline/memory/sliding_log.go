package memory

import (
	"context"
	"errors"
	"fmt"

	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/pipeline/core"
	"github.com/anchor-host/anchor-host/pipeline/store"
)

// KeepsDigest reports whether the conversation saves a digest whenever turns leave: with a
// Compactor or an Eviction, the window does not follow from the newest turns alone.
func (s *SlidingWindow) KeepsDigest() bool {
	return s.cfg.Compactor != nil || s.cfg.Eviction != nil
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
	if g.evicts && s.KeepsDigest() {
		if err := s.saveDigest(ctx, g.digest.Digest); err != nil {
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

// Restore replaces the conversation by the state from a log: the last saved digest, which
// is zero if there is none, and the turns that have not left, by ascending sequence number.
// It counts tokens again. Another tokenizer or a smaller MaxTokens can mean that the turns
// do not fit. Then some leave, as in [SlidingWindow.AddTurn]. On an error nothing has
// changed.
func (s *SlidingWindow) Restore(ctx context.Context, d Digest, turns []pipeline.Turn) error {
	evicted, err := s.restore(ctx, d, turns)
	if err != nil {
		return err
	}
	s.tell(ctx, evicted)
	return nil
}

func (s *SlidingWindow) restore(ctx context.Context, d Digest, turns []pipeline.Turn) (evicted []pipeline.Turn, err error) {
	s.adding.Lock()
	defer s.adding.Unlock()
	turns, err = s.recount(ctx, turns)
	if err != nil {
		return nil, err
	}
	before, err := s.countDigest(ctx, d)
	if err != nil {
		return nil, err
	}
	tokens := sumTokens(turns)
	next, err := s.makeRoom(ctx, turns, tokens-s.cfg.MaxTokens, before)
	if err != nil {
		return nil, err
	}
	if len(next.evicted) > 0 && s.KeepsDigest() {
		// If it cannot be saved, the next Restore makes the same choice.
		if err := s.saveDigest(ctx, next.digest.Digest); err != nil && !errors.Is(err, store.ErrReadOnly) {
			return nil, err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.turns, s.tokens, s.digest = next.kept, tokens-next.freed, next.digest
	s.last = d.Through
	if len(turns) > 0 {
		s.last = max(s.last, turns[len(turns)-1].Sequence)
	}
	return next.evicted, nil
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
		last, texts[i] = t.Sequence, t.Content
	}
	counts, err := core.CountTexts(ctx, s.cfg.Tokenizer, texts)
	if err != nil {
		return nil, fmt.Errorf("conversation: %w", err)
	}
	for i := range turns {
		turns[i].TokenCount = counts[i]
		if turns[i], err = s.cut(ctx, turns[i]); err != nil {
			return nil, err
		}
	}
	return turns, nil
}
