package tokens

import (
	"context"
	"fmt"
	"math"
)

// Estimator counts for a model whose vocabulary is not public. It multiplies the tokens of a
// known encoding by a factor, of which only bounds are known. Count returns the upper end,
// so that a text that fits by this count also fits for the model. It is safe for concurrent
// use.
type Estimator struct {
	model       string
	base        *Encoding
	calibration *Calibration
	// source says where the first bounds come from, warning why they are wide.
	source, warning string
}

// NewEstimator returns an estimator that counts with base and the factor of the
// calibration. Only its name uses model.
func NewEstimator(model string, base *Encoding, c *Calibration) *Estimator {
	return &Estimator{model: model, base: base, calibration: c}
}

// Name says that the counts are estimates, and how they are computed.
func (e *Estimator) Name() string {
	low, high := e.calibration.Factors()
	return fmt.Sprintf("%s (estimate: %s x %.2f to %.2f, upper end)", e.model, e.base.Name(), low, high)
}

// WithOrigin returns a copy of the estimator that says where its first bounds come from, and
// perhaps warns that they are wide. Both share one calibration.
func (e *Estimator) WithOrigin(source, warning string) *Estimator {
	c := *e
	c.source, c.warning = source, warning
	return &c
}

// Source says where the bounds come from, "" if that is not known.
func (e *Estimator) Source() string {
	if n := e.calibration.Observations(); n > 0 {
		return fmt.Sprintf("usage figures: %d", n)
	}
	return e.source
}

// Warning returns the warning of [Estimator.WithOrigin], "" without one.
func (e *Estimator) Warning() string { return e.warning }

// Base returns the encoding that the factor applies to.
func (e *Estimator) Base() *Encoding { return e.base }

// Calibration returns the calibration. Pass it the usage figures that the model reports.
func (e *Estimator) Calibration() *Calibration { return e.calibration }

// Factors returns the current bounds of the factor.
func (e *Estimator) Factors() (low, high float64) { return e.calibration.Factors() }

// Interval returns the bounds of the model's tokens for n tokens of the base encoding.
func (e *Estimator) Interval(n int) (low, high int) {
	l, h := e.calibration.Factors()
	return int(math.Floor(float64(n) * l)), Scale(n, h)
}

// Scale returns n times the factor, rounded up.
func Scale(n int, factor float64) int { return int(math.Ceil(float64(n)*factor - 1e-9)) }

// Count returns the upper end of the number of tokens of each text.
func (e *Estimator) Count(ctx context.Context, texts ...string) ([]int, error) {
	counts, err := e.base.Count(ctx, texts...)
	if err != nil {
		return nil, err
	}
	_, high := e.calibration.Factors()
	for i, n := range counts {
		counts[i] = Scale(n, high)
	}
	return counts, nil
}

// Truncate returns the longest prefix of text whose upper end is at most limit. It ends at a
// character boundary.
func (e *Estimator) Truncate(ctx context.Context, text string, limit int) (string, error) {
	_, high := e.calibration.Factors()
	return e.base.Truncate(ctx, text, int(float64(max(limit, 0))/high+1e-9))
}
