package providers

import (
	"fmt"

	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/pipeline/agent"
)

// checkBounds refuses numbers below 0.
func checkBounds(provider string, bounds map[string]int) error {
	for name, n := range bounds {
		if n < 0 {
			return fmt.Errorf("%s: %s %d: %w (want 0 or more)", provider, name, n, pipeline.ErrInvalid)
		}
	}
	return nil
}

// counterOr returns c, or a counter of the default encoding.
func counterOr(c *agent.Counter) (*agent.Counter, error) {
	if c != nil {
		return c, nil
	}
	return agent.NewCounter(agent.CounterConfig{})
}

// tighter returns the smaller of two bounds. 0 means no bound.
func tighter(a, b int) int {
	if a == 0 || b > 0 && b < a {
		return b
	}
	return a
}
