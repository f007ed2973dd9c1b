package assemble

import (
	"fmt"

	"github.com/anchor-host/anchor-host/internal/config"
	"github.com/anchor-host/anchor-host/pipeline"
)

// setFit says how the window is filled. What the configuration leaves out stays at the
// defaults of the pipeline.
func (b *builder) setFit() error {
	c, out := b.config, &b.out
	if c.Fill != "" {
		s, err := pipeline.StrategyByName(c.Fill)
		if err != nil {
			return fmt.Errorf("%w: %w", config.ErrInvalid, err)
		}
		out.Fill = s
	}
	o := c.FitOptions
	out.Fit, out.Order = pipeline.Fit(c.Fit), pipeline.WindowOrder(c.Order)
	out.Truncate = pipeline.Truncation{At: pipeline.Cutting(c.Truncate), MinTokens: o.MinTokens}
	out.Count = pipeline.CountOptions{MessageOverhead: orNone(o.MessageOverhead), Priming: orNone(o.Priming), Tools: o.Tools}
	return nil
}

// orNone turns an explicit zero into what the pipeline takes for none, and what is not
// set into its default.
func orNone(n *int) int {
	switch {
	case n == nil:
		return 0
	case *n == 0:
		return -1
	}
	return *n
}
