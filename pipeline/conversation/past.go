package conversation

import (
	"context"
	"slices"

	"github.com/anchor-host/anchor-host/pipeline"
)

// outlive returns the past after turns have left. kept are the turns that stay.
func (s *SlidingWindow) outlive(ctx context.Context, p past, kept, evicted []pipeline.Turn) (past, error) {
	p, err := s.passOn(ctx, p, kept, evicted)
	if err == nil && s.cfg.Compactor != nil {
		p, err = s.giveUp(ctx, p, kept)
	}
	return p, err
}

// passOn returns the past after turns have left that wait for the compactor, or that are
// forgotten if there is none.
func (s *SlidingWindow) passOn(ctx context.Context, p past, kept, evicted []pipeline.Turn) (past, error) {
	if s.cfg.Compactor == nil {
		mark(&p.settled.Digest, evicted, kept)
		p.shown = p.settled
		return p, nil
	}
	p.leaving = byNumber(p.leaving, evicted)
	return s.show(ctx, p)
}

// show returns the past with the digest that readers see.
func (s *SlidingWindow) show(ctx context.Context, p past) (past, error) {
	if p.shown = p.settled; len(p.leaving) == 0 {
		return p, nil
	}
	d := p.settled.Digest
	text, listed, err := s.list(ctx, &d, p.leaving)
	if err != nil {
		return p, err
	}
	d.Text, d.Listed = text+listed, len(listed)
	mark(&d, p.leaving, nil)
	p.shown, err = s.countDigest(ctx, d)
	return p, err
}

// giveUp gives up the oldest turns that wait for the compactor, if those that it does not have
// yet are more than MaxTokens: only a list of them remains.
func (s *SlidingWindow) giveUp(ctx context.Context, p past, kept []pipeline.Turn) (past, error) {
	var given, stay []pipeline.Turn
	tokens := 0
	for i := len(p.leaving) - 1; i >= 0; i-- {
		t := p.leaving[i]
		if s.task.has(t.Sequence) {
			stay = append(stay, t)
			continue
		}
		if tokens += t.TokenCount; tokens <= s.cfg.MaxTokens {
			stay = append(stay, t)
		} else {
			given = append(given, t)
		}
	}
	if len(given) == 0 {
		return p, nil
	}
	slices.Reverse(given)
	slices.Reverse(stay)
	d := p.settled.Digest
	text, listed, err := s.list(ctx, &d, given)
	if err != nil {
		return p, err
	}
	d.Text, d.Listed = text+listed, len(listed)
	d.Count++
	mark(&d, given, byNumber(stay, kept))
	if p.settled, err = s.countDigest(ctx, d); err != nil {
		return p, err
	}
	if p.leaving = stay; s.task != nil {
		if p.late, err = s.newestLines(ctx, listTurns(p.late, given), listTokens); err != nil {
			return p, err
		}
	}
	return s.show(ctx, p)
}
