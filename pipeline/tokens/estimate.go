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
