package conversation

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/anchor-host/anchor-host/pipeline"
)

const (
	// groupTurns and groupBytes bound one append to a log, and so how long the first turn
	// of a group waits for the others.
	groupTurns = 256
	groupBytes = 4 << 20
)

// join adds a turn together with those that other callers add meanwhile. Batches are added
// in the order in which they were opened. The next batch can only be opened after this one
// is closed, and a batch is closed while adding is held.
func (s *SlidingWindow) join(a *addition) {
	b, first := s.enlist(a)
	if !first {
		b.added.Wait()
		return
	}
	s.adding.Lock()
	defer s.adding.Unlock()
	defer b.added.Done()
	s.waiting.Lock()
	s.pending = nil
	s.waiting.Unlock()
	for rest := b.additions; len(rest) > 0; {
		rest = rest[s.addGroup(rest):]
	}
	a.began, _ = s.begin(a.ctx)
}

// enlist puts an addition into the pending batch; the first one opens it.
func (s *SlidingWindow) enlist(a *addition) (b *batch, first bool) {
	s.waiting.Lock()
	defer s.waiting.Unlock()
	if s.pending == nil {
		s.pending, first = new(batch), true
		s.pending.added.Add(1)
	}
	b = s.pending
	b.additions = append(b.additions, a)
	return b, first
}

// group is the new state of a conversation after several additions.
type group struct {
	additions []*addition
	last      int64 // the last number of the conversation before
	turns     []pipeline.Turn
	tokens    int
	past      past
	gone      [][]pipeline.Turn // evicted turns in the arrays of the conversation
	settles   bool              // the log must get the digest of past
	bytes     int
	stored    bool // the log has stored the additions
}

// addGroup adds as many of the first additions as the log can take in one append, at least
// one, and returns how many it added. adding must be held.
func (s *SlidingWindow) addGroup(all []*addition) (n int) {
	g := group{last: s.last, turns: s.turns, tokens: s.tokens, past: s.past}
	for _, a := range all {
		fits, err := s.admit(&g, a)
		if !fits {
			break
		}
		n++
		a.err = err
	}
	if len(g.additions) == 0 {
		return n
	}
	first, err := s.record(&g)
	if err != nil && len(g.additions) > 1 && errors.Is(err, pipeline.ErrInvalid) && !g.stored {
		// The log stored nothing because it refused one of them. So each gets an append of
		// its own.
		for _, a := range g.additions {
			a.evicted = nil
			s.addGroup([]*addition{a})
		}
		return n
	}
	if err != nil {
		for _, a := range g.additions {
			a.evicted, a.err = nil, err
		}
		return n
	}
	s.publish(&g, first)
	return n
}

// admit adds an addition to a group, in memory that no reader sees. It reports whether the
// addition fits. It does not fit if a turn of the same group would have to leave, because
// that turn has no number yet. After an error the addition is not in the group; the other
// additions are not affected.
func (s *SlidingWindow) admit(g *group, a *addition) (fits bool, err error) {
	size := len(a.whole.Content)
	if m := a.whole.Whole; m != nil {
		size += len(m.Raw())
	}
	if n := len(g.additions); n > 0 && (n == groupTurns || g.bytes+size > groupBytes) {
		return false, nil
	}
	if err := a.ctx.Err(); err != nil {
		return true, fmt.Errorf("conversation: %w", err)
	}
	next, err := s.choose(g.turns, s.excess(g.tokens, a.cut.TokenCount))
	if err != nil {
		return true, err
	}
	for i := range next.evicted {
		if next.evicted[i].Sequence > g.last {
			return false, nil
		}
	}
	if len(next.evicted) > 0 {
		settled := g.past.settled.Count
		if g.past, err = s.outlive(a.ctx, g.past, next.kept, next.evicted); err != nil {
			return true, err
		}
		g.settles = g.settles || s.cfg.Compactor == nil || g.past.settled.Count != settled
	}
	g.gone = append(g.gone, g.turns[:next.front])
	g.bytes += size
	g.additions = append(g.additions, a)
	a.evicted = next.evicted
	turn := a.cut
	turn.Sequence = g.last + int64(len(g.additions)) // until the log assigns one
	g.turns = append(next.kept, turn)
	g.tokens += turn.TokenCount - next.freed
	return true, nil
}

// publish makes the group the conversation. first is the number of its first turn.
func (s *SlidingWindow) publish(g *group, first int64) {
	for i := len(g.turns) - len(g.additions); i < len(g.turns); i++ {
		g.turns[i].Sequence += first - g.last - 1
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, gone := range g.gone {
		clear(gone) // the array is used again: free the texts
	}
	s.turns, s.tokens, s.past = g.turns, g.tokens, g.past
	s.last = first + int64(len(g.additions)) - 1
}

// context returns the context of the only addition of a group. For several additions it
// returns one that ends when the contexts of all have ended, so that no caller cancels what
// others wait for.
func (g *group) context() (context.Context, context.CancelFunc) {
	ctx := g.additions[0].ctx
	if len(g.additions) == 1 {
		return ctx, func() {}
	}
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	var left atomic.Int64
	left.Store(int64(len(g.additions)))
	stops := make([]func() bool, len(g.additions))
	for i, a := range g.additions {
		stops[i] = context.AfterFunc(a.ctx, func() {
			if left.Add(-1) == 0 {
				cancel(a.ctx.Err())
			}
		})
	}
	return ctx, func() {
		for _, stop := range stops {
			stop()
		}
		cancel(nil)
	}
}
