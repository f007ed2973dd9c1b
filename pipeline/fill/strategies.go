package fill

import (
	"context"
	"fmt"

	"github.com/anchor-host/anchor-host/pipeline/core"
)

// strategies lists the built-in strategies.
var strategies = []Strategy{FirstFit{}, ValuePerToken{}, Knapsack{}}

// StrategyNames lists the names that [StrategyByName] knows.
func StrategyNames() []string {
	names := make([]string, len(strategies))
	for i, s := range strategies {
		names[i] = s.Name()
	}
	return names
}

// StrategyByName returns the strategy "first_fit", "value_per_token" or "knapsack".
func StrategyByName(name string) (Strategy, error) {
	for _, s := range strategies {
		if s.Name() == name {
			return s, nil
		}
	}
	return nil, fmt.Errorf("fill %.100q: %w (want one of %v)", name, core.ErrInvalid, StrategyNames())
}

// tryOrder asks the strategy for an order and checks that it has each candidate once.
func tryOrder(ctx context.Context, s Strategy, c []Candidate, room int) (order []int32, note string, err error) {
	err = core.Guard(func() (err error) {
		order, note, err = s.Order(ctx, c, room)
		return err
	})
	if err != nil {
		return nil, "", fmt.Errorf("strategy %.100q: order %d items: %w", s.Name(), len(c), err)
	}
	named := make([]bool, len(c))
	for _, i := range order {
		if i < 0 || int(i) >= len(c) || named[i] {
			return nil, "", fmt.Errorf("strategy %.100q: item %d of %d is named twice or does not exist: %w", s.Name(), i, len(c), core.ErrInvalid)
		}
		named[i] = true
	}
	if len(order) != len(c) {
		return nil, "", fmt.Errorf("strategy %.100q: %d of %d items are named: %w", s.Name(), len(order), len(c), core.ErrInvalid)
	}
	return order, note, nil
}
