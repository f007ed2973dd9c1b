package conversation

import (
	"fmt"
	"slices"

	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/pipeline/agent"
	"github.com/anchor-host/anchor-host/pipeline/core"
	"github.com/anchor-host/anchor-host/pipeline/internal/values"
)

// room is a conversation after it has made room for a turn.
type room struct {
	kept    []pipeline.Turn
	evicted []pipeline.Turn // oldest first
	freed   int             // their tokens
	front   int             // how many of them were the first turns, kept being the rest in place
}

// excess returns how many tokens of turns must leave before others with more tokens are added:
// none while all fit, else those above the low mark.
func (s *SlidingWindow) excess(tokens, more int) int {
	if tokens+more <= s.cfg.MaxTokens {
		return 0
	}
	return min(tokens+more-s.cfg.LowWater, tokens)
}

// choose divides turns into those that stay and those that leave, which have at least free
// tokens.
func (s *SlidingWindow) choose(turns []pipeline.Turn, free int) (room, error) {
	r := room{kept: turns}
	if free <= 0 || len(turns) == 0 {
		return r, nil
	}
	if s.cfg.Eviction != nil {
		err := s.applyPolicy(&r, free)
		return r, err
	}
	for r.front < len(turns) && r.freed < free {
		r.freed += turns[r.front].TokenCount
		r.front++
	}
	if usesTools(turns) {
		leaves := make([]bool, len(turns))
		for i := range r.front {
			leaves[i] = true
		}
		r = room{kept: turns}
		r.divide(leaves)
		return r, nil
	}
	r.evicted, r.kept = slices.Clone(turns[:r.front]), turns[r.front:]
	return r, nil
}

// applyPolicy divides r.kept by the eviction policy.
func (s *SlidingWindow) applyPolicy(r *room, free int) error {
	turns := r.kept
	var chosen []int
	err := core.Guard(func() error { chosen = s.cfg.Eviction(s.shown(turns), free); return nil })
	if err != nil {
		return fmt.Errorf("conversation: eviction policy: %w", err)
	}
	r.divide(completeChoice(turns, chosen, free))
	return nil
}

// divide divides r.kept into the turns that leave and those that stay. With a call all its
// results leave, and with a result its call, because a model takes none without the other.
func (r *room) divide(leaves []bool) {
	turns := r.kept
	completeUnits(turns, leaves)
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
		return
	}
	r.front, r.kept = 0, make([]pipeline.Turn, 0, len(turns))
	for i := range turns {
		if !leaves[i] {
			r.kept = append(r.kept, turns[i])
		}
	}
}

// completeUnits adds to the turns that leave the other turns of their units, see [agent.Units].
func completeUnits(turns []pipeline.Turn, leaves []bool) {
	if !usesTools(turns) {
		return
	}
	units := agent.Units(messagesOf(turns))
	gone := make([]bool, len(turns))
	for i, unit := range units {
		gone[unit] = gone[unit] || leaves[i]
	}
	for i, unit := range units {
		leaves[i] = gone[unit]
	}
}

// newestUnit returns the index of the first turn of the unit of the newest turn. A compaction
// leaves them in place, whatever their size: a call must not leave while its result stays.
func newestUnit(turns []pipeline.Turn) int {
	last := len(turns) - 1
	if last < 0 || !usesTools(turns) {
		return max(0, last)
	}
	return agent.Units(messagesOf(turns))[last]
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
