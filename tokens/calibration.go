package tokens

import (
	"fmt"
	"math"
	"slices"
	"sync"
)

const (
	// calibrationWindow is the number of newest observations that the bounds depend on.
	calibrationWindow = 64
	// leastObserved is the least number of base tokens of an observation. In shorter
	// prompts the tokens that the provider adds outweigh those of the text.
	leastObserved = 200
	// calibrationSpread is the distance from the mean to either end of the interval, in
	// standard deviations.
	calibrationSpread = 3
	// outlier is the factor by which an observation may exceed the initial bounds. Beyond
	// that it is taken for an error, such as the figure of another request.
	outlier = 2
)

// Calibration estimates the factor between the tokens of a known encoding and those of a
// model, from the usage figures that the provider returns.
//
// It starts with given bounds. After n observations the interval is
//
//	mean ± (3 · deviation · √(1 + 1/n) + half of the initial width / (n + 1))
//
// over the newest 64 of them, and always contains each of these. It becomes narrower with
// more figures, and wider when the kind of text changes. It is safe for concurrent use.
type Calibration struct {
	statedLow, statedHigh float64

	mu        sync.RWMutex
	ratios    []float64 // newest last
	low, high float64
}

// NewCalibration starts with the given bounds of the factor, 0 < low <= high.
func NewCalibration(low, high float64) (*Calibration, error) {
	if !(low > 0 && low <= high) || math.IsInf(high, 1) {
		return nil, fmt.Errorf("calibration: factor %v to %v: want 0 < low <= high", low, high)
	}
	return &Calibration{statedLow: low, statedHigh: high, low: low, high: high}, nil
}

// Factors returns the current bounds.
func (c *Calibration) Factors() (low, high float64) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.low, c.high
}

// Observations returns the number of observations that the bounds depend on.
func (c *Calibration) Observations() int {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return len(c.ratios)
}

// Observe adds one usage figure. base is the count of a prompt in the known encoding.
// observed is the number of input tokens that the provider reported for it, including those
// read from and written to its cache. Observe ignores prompts with fewer than 200 base
// tokens, and figures beyond twice the initial bounds. It reports whether it used the figure.
func (c *Calibration) Observe(base, observed int) bool {
	if base < leastObserved || observed <= 0 {
		return false
	}
	ratio := float64(observed) / float64(base)
	if ratio < c.statedLow/outlier || ratio > c.statedHigh*outlier {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.ratios) == calibrationWindow {
		c.ratios = c.ratios[1:]
	}
	c.ratios = append(c.ratios, ratio)
	c.low, c.high = c.bounds()
	return true
}

// bounds computes the interval. There must be at least one observation.
func (c *Calibration) bounds() (low, high float64) {
	n := float64(len(c.ratios))
	var mean, squares float64
	for _, r := range c.ratios {
		mean += r / n
	}
	for _, r := range c.ratios {
		squares += (r - mean) * (r - mean)
	}
	deviation := 0.0
	if n > 1 {
		deviation = math.Sqrt(squares / (n - 1))
	}
	half := calibrationSpread*deviation*math.Sqrt(1+1/n) + (c.statedHigh-c.statedLow)/2/(n+1)
	low = min(mean-half, slices.Min(c.ratios))
	high = max(mean+half, slices.Max(c.ratios))
	return max(low, c.statedLow/outlier), min(high, c.statedHigh*outlier)
}
