package fill

import (
	"cmp"
	"context"
	"math"
	"slices"

	"github.com/anchor-host/anchor-host/pipeline/core"
	"github.com/anchor-host/anchor-host/pipeline/internal/values"
)

// Strategy decides in which order the items of a window are tried. The window admits each
// item that fits when it is tried, so that room is left only if no rejected item fits into
// it. A Strategy is safe for concurrent use.
type Strategy interface {
	// Name identifies the strategy in diagnostics.
	Name() string
	// Order returns the indices of all candidates, each once, in the order of trying.
	// Candidates come by priority and score, the best first. room is the number of tokens
	// that they compete for. note says what the strategy could not do, or is empty.
	Order(ctx context.Context, c []Candidate, room int) (order []int32, note string, err error)
}

// Candidate is an item that competes for a place.
type Candidate struct {
	// Tokens is the number of tokens of the item, 0 or more.
	Tokens int
	// Value is the value of the item, see [ItemValue].
	Value float64
}

// ItemValue is the value of an item in the window: 10^(priority-1) × (1 + 9 × score). One
// step of priority outweighs the whole range of scores: priority decides first, and the
// score decides among items of equal priority.
func ItemValue(it *core.Item) float64 {
	return priorityWeights[min(max(it.Priority, core.MinPriority), core.MaxPriority)-1] * (1 + 9*it.Score)
}

var priorityWeights = [core.MaxPriority]float64{1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9}

// FirstFit tries items by priority, then by score, the best first.
type FirstFit struct{}

// Name returns "first_fit".
func (FirstFit) Name() string { return "first_fit" }

// Order returns the candidates in the order in which they come.
func (FirstFit) Order(_ context.Context, c []Candidate, _ int) ([]int32, string, error) {
	return values.Indices(len(c)), "", nil
}

// ValuePerToken first tries the items with the highest value per token. If a single item is
// worth more than all items that would be admitted in this way, it tries that item first.
// The value of the result is at least half of the best possible value.
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

// byDensity returns the indices of candidates by value per token, the best first. Candidates
// without tokens come before all others, and ties keep their order.
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

// fractionalOptimum returns the value of the best selection if items could be divided. No
// selection of whole items is worth more.
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
