package memory

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/pipeline/core"
	"github.com/anchor-host/anchor-host/pipeline/internal/values"
)

// EvictionPolicy chooses the turns that leave a conversation. It returns the indices of
// turns whose tokens sum up to at least free. Indices that do not exist or that are
// repeated are ignored. If the chosen turns free too little, the oldest of the others leave
// as well. The turns are copies, and valid until the policy returns.
type EvictionPolicy func(turns []pipeline.Turn, free int) []int

// EvictOldest chooses from the oldest turn on.
func EvictOldest(turns []pipeline.Turn, free int) []int {
	var chosen []int
	for i := 0; i < len(turns) && free > 0; i++ {
		chosen = append(chosen, i)
		free -= turns[i].TokenCount
	}
	return chosen
}

// EvictPairs chooses from the oldest turn on. An answer leaves together with the question
// before it.
func EvictPairs(turns []pipeline.Turn, free int) []int {
	var chosen []int
	for i := 0; i < len(turns) && free > 0; {
		size := 1
		if i+1 < len(turns) && turns[i].Role == pipeline.RoleUser && turns[i+1].Role == pipeline.RoleAssistant {
			size = 2
		}
		for range size {
			chosen = append(chosen, i)
			free -= turns[i].TokenCount
			i++
		}
	}
	return chosen
}

// EvictExchanges chooses from the oldest turn on. A user turn leaves together with all
// turns up to the next user turn, so that no tool turn outlives the call that it answers.
func EvictExchanges(turns []pipeline.Turn, free int) []int {
	var chosen []int
	for i := 0; i < len(turns) && free > 0; {
		for first := true; first || i < len(turns) && turns[i].Role != pipeline.RoleUser; first = false {
			chosen = append(chosen, i)
			free -= turns[i].TokenCount
			i++
		}
	}
	return chosen
}

// EvictLeastImportant returns a policy that chooses by ascending importance. Of equally
// important turns it chooses the older one first.
func EvictLeastImportant(importance func(*pipeline.Turn) float64) EvictionPolicy {
	return func(turns []pipeline.Turn, free int) []int {
		weights := make([]float64, len(turns))
		order := make([]int, len(turns))
		for i := range turns {
			weights[i], order[i] = importance(&turns[i]), i
		}
		slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(weights[a], weights[b]) })
		n := 0
		for ; n < len(order) && free > 0; n++ {
			free -= turns[order[n]].TokenCount
		}
		return order[:n]
	}
}

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

// RecencyScorer returns the score of turn i of n, 0 to 1. Turn 0 is the oldest.
type RecencyScorer func(i, n int) float64

// LinearRecency scores from lowest, for the oldest turn, to 1. A single turn has 1.
func LinearRecency(lowest float64) RecencyScorer {
	return func(i, n int) float64 {
		if n <= 1 {
			return 1
		}
		return lowest + (1-lowest)*float64(i)/float64(n-1)
	}
}

// ExponentialRecency scores from 0 to 1. The higher the rate, the more the scores of old
// turns fall; at rate 0 the scores are evenly spaced. A single turn has 1.
func ExponentialRecency(rate float64) RecencyScorer {
	return func(i, n int) float64 {
		if n <= 1 {
			return 1
		}
		x := float64(i) / float64(n-1)
		if rate == 0 {
			return x
		}
		// (e^(rate·x)-1) / (e^rate-1), in a form that does not overflow.
		return math.Exp(rate*(x-1)) * math.Expm1(-rate*x) / math.Expm1(-rate)
	}
}

// recencyFromHalf is LinearRecency(0.5), but gives a single turn 0.5.
func recencyFromHalf(i, n int) float64 {
	if n <= 1 {
		return 0.5
	}
	return 0.5 + 0.5*float64(i)/float64(n-1)
}
