package assemble

import (
	"fmt"
	"os"

	"github.com/anchor-host/anchor-host/internal/config"
	"github.com/anchor-host/anchor-host/pipeline/fill"
	"github.com/anchor-host/anchor-host/pipeline/tokens"
)

// setFit says how the window is filled. What the configuration leaves out stays at the
// defaults of the pipeline.
func (b *builder) setFit() error {
	c, out := b.config, &b.out
	if c.Fill != "" {
		s, err := fill.StrategyByName(c.Fill)
		if err != nil {
			return fmt.Errorf("%w: %w", config.ErrInvalid, err)
		}
		out.Fill = s
	}
	o := c.FitOptions
	out.Fit, out.Order = fill.Fit(c.Fit), fill.WindowOrder(c.Order)
	out.Truncate = fill.Truncation{At: fill.Cutting(c.Truncate), MinTokens: o.MinTokens}
	out.Count = fill.CountOptions{MessageOverhead: orNone(o.MessageOverhead), Priming: orNone(o.Priming), Tools: o.Tools}
	return nil
}

// calibrate feeds the usage figures of the configuration to an estimator.
func (b *builder) calibrate(e *tokens.Estimator) error {
	path := b.options.Path(b.config.Calibration)
	f, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("%w: calibration: %w", config.ErrInvalid, err)
	}
	defer f.Close()
	used, refused, err := e.Calibration().ObserveLines(f, b.config.Model)
	if err != nil {
		return fmt.Errorf("%w: calibration: %s: %w", config.ErrInvalid, path, err)
	}
	if used == 0 {
		b.options.Logger.Warn("calibration has no usable figure of the model", "file", path, "model", b.config.Model, "refused", refused)
	}
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
