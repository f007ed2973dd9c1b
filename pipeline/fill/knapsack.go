package fill

import (
	"context"
	"fmt"

	"github.com/anchor-host/anchor-host/pipeline/internal/values"
)

// MaxKnapsackCells bounds the table of [Knapsack], which has a cell for each item and each
// token of the window. The largest table takes half a megabyte and about ten milliseconds.
const MaxKnapsackCells = 1 << 22

// Knapsack admits the selection of items with the highest total value, which it finds by
// dynamic programming over the tokens of the window. If items times tokens exceed
// [MaxKnapsackCells], it uses [ValuePerToken] instead, and a note says so.
type Knapsack struct{}

// Name returns "knapsack".
func (Knapsack) Name() string { return "knapsack" }

// Order returns the items of the best selection first, then the others, each by priority.
func (k Knapsack) Order(ctx context.Context, c []Candidate, room int) ([]int32, string, error) {
	room = max(room, 0)
	var open []int32 // those that compete: items without tokens are always in, too large ones always out
	taken := make([]bool, len(c))
	total := 0
	for i := range c {
		switch {
		case c[i].Tokens == 0:
			taken[i] = true
		case c[i].Tokens <= room:
			open = append(open, int32(i))
			total = values.Add(total, c[i].Tokens)
		}
	}
	if total <= room {
		return FirstFit{}.Order(ctx, c, room)
	}
	if cells := float64(len(open)) * float64(room); cells > MaxKnapsackCells {
		order, _, err := ValuePerToken{}.Order(ctx, c, room)
		return order, fmt.Sprintf("knapsack: %d items and %d tokens are more than %d cells: filled by value per token", len(open), room, MaxKnapsackCells), err
	}
	if err := solve(ctx, c, open, room, taken); err != nil {
		return nil, "", err
	}
	order := make([]int32, 0, len(c))
	for _, want := range [...]bool{true, false} {
		for i := range c {
			if taken[i] == want {
				order = append(order, int32(i))
			}
		}
	}
	return order, "", nil
}

// solve marks the best selection of the open candidates. Among equally good selections it
// prefers the one with better-placed items: it enters candidates into the table from last to
// first, and takes an item when the value does not become lower.
func solve(ctx context.Context, c []Candidate, open []int32, room int, taken []bool) error {
	best := make([]float64, room+1) // by tokens: the best value of the candidates so far
	words := room/64 + 1
	takes := make([]uint64, len(open)*words) // by candidate: the tokens at which it is taken
	for row := len(open) - 1; row >= 0; row-- {
		if err := ctx.Err(); err != nil {
			return err
		}
		n, value := c[open[row]].Tokens, c[open[row]].Value
		bits := takes[row*words : (row+1)*words]
		for t := room; t >= n; t-- {
			if with := best[t-n] + value; with >= best[t] {
				best[t] = with
				bits[t/64] |= 1 << (t % 64)
			}
		}
	}
	for row, t := 0, room; row < len(open); row++ {
		if takes[row*words+t/64]>>(t%64)&1 == 1 {
			taken[open[row]] = true
			t -= c[open[row]].Tokens
		}
	}
	return nil
}
