package conversation

import (
	"cmp"
	"math"
	"slices"

	"github.com/anchor-host/anchor-host/pipeline"
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
