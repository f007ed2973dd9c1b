package fill

import (
	"cmp"
	"context"
	"math"
	"slices"

	"github.com/anchor-host/anchor-host/pipeline/core"
	"github.com/anchor-host/anchor-host/pipeline/internal/values"
)

// Strategy decides in which order the items of a window are tried. Each item that
// still fits when its turn comes is admitted, so that no strategy leaves room that one
// of its misfits would fill. It is safe for concurrent use.
type Strategy interface {
	// Name identifies the strategy in diagnostics.
	Name() string
	// Order returns the places of all candidates, each once, in the order of trying.
	// Candidates come by priority and score, best first; room is the tokens they
	// compete for. A note says what the strategy could not do, or is empty.
	Order(ctx context.Context, c []Candidate, room int) (order []int32, note string, err error)
}

// Candidate is an item that competes for a place.
type Candidate struct {
	// Tokens is what it takes, 0 or more.
	Tokens int
	// Value is what it is worth; see [ItemValue].
	Value float64
}

// ItemValue is what an item in the window is worth: 10^(priority-1) × (1 + 9 × score).
// A step of priority outweighs the whole range of scores, so that priority decides
// first and the score among equals.
func ItemValue(it *core.Item) float64 {
	return priorityWeights[min(max(it.Priority, core.MinPriority), core.MaxPriority)-1] * (1 + 9*it.Score)
}

var priorityWeights = [core.MaxPriority]float64{1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9}

// FirstFit tries by priority, then score: what is better always comes first.
type FirstFit struct{}

// Name returns "first_fit".
func (FirstFit) Name() string { return "first_fit" }

// Order returns the candidates as they come.
func (FirstFit) Order(_ context.Context, c []Candidate, _ int) ([]int32, string, error) {
	return values.Indices(len(c)), "", nil
}

// ValuePerToken tries what gives most value for its tokens first, or, when it is worth
// more than all that would get in this way, the one most valuable item. What it
// admits is worth at least half of the best choice.
type ValuePerToken struct{}

// Name returns "value_per_token".
func (ValuePerToken) Name() string { return "value_per_token" }

// Order returns the candidates by their value per token.
func (ValuePerToken) Order(_ context.Context, c []Candidate, room int) ([]int32, string, error) {
	order := byDensity(c)
	sum, left, best := 0.0, room, -1
	for _, i := range order {
		if c[i].Tokens <= left {
			left -= c[i].Tokens
			sum += c[i].Value
		}
		if c[i].Tokens <= room && (best < 0 || c[i].Value > c[best].Value) {
			best = int(i)
		}
	}
	if best >= 0 && c[best].Value > sum {
		at := slices.Index(order, int32(best))
		copy(order[1:at+1], order[:at])
		order[0] = int32(best)
	}
	return order, "", nil
}

// byDensity returns the places of candidates by value per token, best first; those
// without tokens come before all others. Ties keep their order.
func byDensity(c []Candidate) []int32 {
	density := make([]float64, len(c))
	for i := range c {
		density[i] = math.Inf(1)
		if c[i].Tokens > 0 {
			density[i] = c[i].Value / float64(c[i].Tokens)
		}
	}
	order := values.Indices(len(c))
	slices.SortStableFunc(order, func(a, b int32) int { return cmp.Compare(density[b], density[a]) })
	return order
}

// fractionalOptimum returns what the best choice would be worth if items could be
// divided: no choice of whole items is worth more.
func fractionalOptimum(c []Candidate, room int) float64 {
	sum := 0.0
	for _, i := range byDensity(c) {
		if c[i].Tokens > room {
			return sum + c[i].Value*float64(max(room, 0))/float64(c[i].Tokens)
		}
		room -= c[i].Tokens
		sum += c[i].Value
	}
	return sum
}
