package pipeline

import (
	"cmp"
	"math"
	"slices"
)

// EvictionPolicy chooses the turns that leave a conversation: indices of turns whose
// tokens sum up to at least free. Indices that do not exist or come twice are
// ignored; if the chosen turns free too little, the oldest others leave as well.
type EvictionPolicy func(turns []Turn, free int) []int

// EvictOldest chooses from the oldest turn on.
func EvictOldest(turns []Turn, free int) []int {
	var chosen []int
	for i := 0; i < len(turns) && free > 0; i++ {
		chosen = append(chosen, i)
		free -= turns[i].TokenCount
	}
	return chosen
}

// EvictPairs chooses from the oldest turn on, an answer together with the question
// before it.
func EvictPairs(turns []Turn, free int) []int {
	var chosen []int
	for i := 0; i < len(turns) && free > 0; {
		size := 1
		if i+1 < len(turns) && turns[i].Role == RoleUser && turns[i+1].Role == RoleAssistant {
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

// EvictLeastImportant returns a policy that chooses by ascending importance, the
// older of equals first.
func EvictLeastImportant(importance func(*Turn) float64) EvictionPolicy {
	return func(turns []Turn, free int) []int {
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

// completeChoice returns for each turn whether it leaves.
func completeChoice(turns []Turn, chosen []int, free int) []bool {
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

// RecencyScorer scores turn i of n, oldest first, 0 to 1.
type RecencyScorer func(i, n int) float64

// LinearRecency scores from lowest, for the oldest turn, to 1; a single turn has 1.
func LinearRecency(lowest float64) RecencyScorer {
	return func(i, n int) float64 {
		if n <= 1 {
			return 1
		}
		return lowest + (1-lowest)*float64(i)/float64(n-1)
	}
}

// ExponentialRecency scores from 0 to 1, growing the faster the higher the rate, which
// must not be 0; a single turn has 1.
func ExponentialRecency(rate float64) RecencyScorer {
	return func(i, n int) float64 {
		if n <= 1 {
			return 1
		}
		return math.Expm1(rate*float64(i)/float64(n-1)) / math.Expm1(rate)
	}
}

// recencyFromHalf is LinearRecency(0.5), but gives a single turn 0.5.
func recencyFromHalf(i, n int) float64 {
	if n <= 1 {
		return 0.5
	}
	return 0.5 + 0.5*float64(i)/float64(n-1)
}
