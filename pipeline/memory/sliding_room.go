package memory

import (
	"context"
	"fmt"
	"slices"

	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/pipeline/core"
	"github.com/anchor-host/anchor-host/pipeline/internal/values"
)

// room is a conversation after it has made room for a turn.
type room struct {
	kept    []pipeline.Turn
	evicted []pipeline.Turn // oldest first
	freed   int             // their tokens
	front   int             // how many of them were the first turns, kept being the rest in place
	digest  digest
}

// makeRoom chooses turns that leave, to free the given number of tokens, and condenses them
// into the digest.
func (s *SlidingWindow) makeRoom(ctx context.Context, turns []pipeline.Turn, free int, d digest) (room, error) {
	r, err := s.choose(turns, free)
	if err == nil {
		err = s.condenseRoom(ctx, &r, d)
	}
	return r, err
}

// choose divides turns into those that stay and those that leave.
func (s *SlidingWindow) choose(turns []pipeline.Turn, free int) (room, error) {
	r := room{kept: turns}
	if free <= 0 || len(turns) == 0 {
		return r, nil
	}
	if s.cfg.Compactor != nil {
		free = max(free, min(s.cfg.CompactTokens, sumTokens(turns)))
	}
	if s.cfg.Eviction != nil {
		err := s.applyPolicy(&r, free)
		return r, err
	}
	for r.front < len(turns) && r.freed < free {
		r.freed += turns[r.front].TokenCount
		r.front++
	}
	r.evicted, r.kept = slices.Clone(turns[:r.front]), turns[r.front:]
	return r, nil
}

// condenseRoom condenses the turns that leave into the digest.
func (s *SlidingWindow) condenseRoom(ctx context.Context, r *room, d digest) (err error) {
	if r.digest = d; len(r.evicted) > 0 {
		r.digest, err = s.condense(ctx, d, r.kept, r.evicted)
	}
	return err
}

// applyPolicy divides r.kept by the eviction policy.
func (s *SlidingWindow) applyPolicy(r *room, free int) error {
	turns := r.kept
	var chosen []int
	err := core.Guard(func() error { chosen = s.cfg.Eviction(s.shown(turns), free); return nil })
	if err != nil {
		return fmt.Errorf("conversation: eviction policy: %w", err)
	}
	leaves := completeChoice(turns, chosen, free)
	for r.front < len(turns) && leaves[r.front] {
		r.front++
	}
	for i := range turns {
		if leaves[i] {
			r.evicted = append(r.evicted, turns[i])
			r.freed += turns[i].TokenCount
		}
	}
	if r.front == len(r.evicted) {
		r.kept = turns[r.front:]
		return nil
	}
	r.front, r.kept = 0, make([]pipeline.Turn, 0, len(turns))
	for i := range turns {
		if !leaves[i] {
			r.kept = append(r.kept, turns[i])
		}
	}
	return nil
}

// shown returns copies of turns for a policy. The next call uses their memory again.
func (s *SlidingWindow) shown(turns []pipeline.Turn) []pipeline.Turn {
	s.scratch = append(s.scratch[:0], turns...)
	for i := range s.scratch {
		s.scratch[i].Metadata = values.Clone(s.scratch[i].Metadata)
	}
	return s.scratch
}

// completeChoice returns for each turn whether it leaves.
func completeChoice(turns []pipeline.Turn, chosen []int, free int) []bool {
	leaves := make([]bool, len(turns))
	for _, i := range chosen {
		if i >= 0 && i < len(turns) && !leaves[i] {
			leaves[i] = true
			free -= turns[i].TokenCount
		}
	}
	for i := 0; i < len(turns) && free > 0; i++ {
		if !leaves[i] {
			leaves[i] = true
			free -= turns[i].TokenCount
		}
	}
	return leaves
}
