package memory

import (
	"context"
	"errors"
	"math"
	"reflect"

	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/pipeline/conversation"
	"github.com/anchor-host/anchor-host/pipeline/retrieve"
	"github.com/anchor-host/anchor-host/store"
)

// promoteTurns is how many turns an extractor receives at a time.
const promoteTurns = 50

// promoteTries is how often a batch is promoted anew that somebody else promoted, changed
// or deleted meanwhile.
const promoteTries = 3

// PromoteLog promotes the turns of a stored conversation that have not been promoted yet,
// and notes how far it came: what fails is done again the next time. Facts in the store of
// the conversation and the note are written together, and only if the turns are there and
// nobody else promoted them meanwhile.
//
// If the extractor fails, it receives fewer turns. A single turn for which it fails is skipped
// if it succeeds for a later turn: one turn must not keep all others from being promoted. An error
// that wraps [retrieve.ErrUnavailable] ends the promotion at once.
func (m *Manager) PromoteLog(ctx context.Context, l *conversation.Log) (Promotion, error) {
	return m.PromoteBatches(ctx, l, math.MaxInt)
}

// PromoteBatches is [Manager.PromoteLog] for at most n batches of turns.
func (m *Manager) PromoteBatches(ctx context.Context, l *conversation.Log, n int) (Promotion, error) {
	var all Promotion
	if m.cfg.Extractor == nil {
		return all, nil
	}
	size, tries := promoteTurns, 0
	for n > 0 {
		through, note, err := l.PromotionMark(ctx)
		if err != nil {
			return all, err
		}
		turns, err := l.Turns(ctx, through, promoteTurns)
		if err != nil || len(turns) == 0 {
			return all, err
		}
		batch := turns[:min(size, len(turns))]
		p, err := m.promoteTurns(ctx, l, batch, note)
		var failed *extractError
		switch {
		case err == nil:
			all.add(p)
			n, tries, size = n-1, 0, min(2*size, promoteTurns)
			continue
		case errors.Is(err, store.ErrConflict) && tries < promoteTries:
			tries++
			continue
		case errors.Is(err, retrieve.ErrUnavailable): // fewer turns would not help
		case ctx.Err() == nil && errors.As(err, &failed) && len(batch) > 1:
			size = len(batch) / 2
			continue
		case ctx.Err() == nil && errors.As(err, &failed) && m.works(ctx, turns[1:]):
			if skipErr := m.skip(ctx, l, &turns[0], note, err); skipErr == nil || errors.Is(skipErr, store.ErrConflict) {
				n--
				continue
			}
		}
		all.add(p)
		return all, err
	}
	return all, nil
}

// works reports whether the extractor succeeds for one of some turns. It tries those at the
// distances 1, 2, 4 and so on, and stores nothing.
func (m *Manager) works(ctx context.Context, turns []pipeline.Turn) bool {
	owner := m.owner()
	for i := 1; i <= len(turns) && ctx.Err() == nil; i *= 2 {
		turn := turns[i-1 : i]
		known, err := m.known(ctx, owner, turn)
		if err == nil {
			_, _, err = m.ask(ctx, owner, turn, known)
		}
		if err == nil {
			return true
		}
	}
	return false
}

// skip notes that a turn was promoted, although the extractor failed for it.
func (m *Manager) skip(ctx context.Context, l *conversation.Log, turn *pipeline.Turn, note store.Change, failure error) error {
	note, err := conversation.Noted(note, turn.Sequence)
	if err == nil {
		err = l.Store().Apply(ctx, there(l, *turn), note)
	}
	if err == nil {
		m.cfg.Logger.Warn("a turn is skipped: no facts can be extracted from it", "conversation", l.Key().Stream, "turn", turn.Sequence, "error", failure)
	}
	return err
}

// there is the condition that nobody has deleted turns of a log.
func there(l *conversation.Log, turns ...pipeline.Turn) store.Change {
	c := store.Change{Key: l.Key()}
	for i := range turns {
		c.If = append(c.If, store.Record{ID: store.AutoID(turns[i].Sequence)})
	}
	return c
}

// promoteTurns promotes turns of a log and notes the last of them.
func (m *Manager) promoteTurns(ctx context.Context, l *conversation.Log, turns []pipeline.Turn, note store.Change) (Promotion, error) {
	note, err := conversation.Noted(note, turns[len(turns)-1].Sequence)
	if err != nil {
		return Promotion{}, err
	}
	with := []store.Change{there(l, turns...), note}
	if f, ok := m.cfg.Facts.(*StoreFacts); ok && reflect.TypeOf(f.records).Comparable() && any(f.records) == any(l.Store()) {
		return m.promote(ctx, turns, with)
	}
	p, err := m.promote(ctx, turns, nil)
	if err == nil {
		err = l.Store().Apply(ctx, with...)
	}
	return p, err
}
