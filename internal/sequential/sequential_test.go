package sequential

import (
	"math"
	"math/rand/v2"
	"testing"
)

// The interval has the mean, is in [0, 1], and its ends are where the formula says.
func TestMean(t *testing.T) {
	for _, c := range []struct {
		sum float64
		n   int64
	}{{0, 1}, {1, 1}, {0, 1000}, {3, 1000}, {1000, 1000}, {500_000, 1_000_000}, {0.3, 1}} {
		low, high := Mean(c.sum, c.n, 0.01)
		mean := c.sum / float64(c.n)
		if !(0 <= low && low <= mean && mean <= high && high <= 1 && high-low > 0) {
			t.Errorf("%v: %v to %v", c, low, high)
		}
	}
	low, high := Mean(30, 1000, 0.01)
	for _, p := range []float64{low, high} {
		m := math.Exp(logBeta(30.5, 970.5) - logBeta(0.5, 0.5) - 30*math.Log(p) - 970*math.Log1p(-p))
		if math.Abs(m*0.01-1) > 1e-6 {
			t.Errorf("at %v the martingale is %v, want 100", p, m)
		}
	}
	if low, high := Mean(0, 0, 0.01); low != 0 || high != 1 {
		t.Errorf("without values: %v to %v", low, high)
	}
}

// Of 300 samples that are looked at after each value, no more than the error of 0.1 allows ever exclude the mean, by two standard deviations: of
// shares, and of values between 0 and 1.
func TestMeanHoldsItsError(t *testing.T) {
	for name, c := range map[string]struct {
		mean float64
		draw func(*rand.Rand) float64
	}{
		"share of 0.05": {0.05, func(r *rand.Rand) float64 { return map[bool]float64{true: 1}[r.Float64() < 0.05] }},
		"share of 0.5":  {0.5, func(r *rand.Rand) float64 { return float64(r.IntN(2)) }},
		"uniform":       {0.5, (*rand.Rand).Float64},
	} {
		wrong := 0
		for seed := range 300 {
			r, sum := rand.New(rand.NewPCG(7, uint64(seed))), 0.0
			for n := int64(1); n <= 200; n++ {
				sum += c.draw(r)
				if low, high := Mean(sum, n, 0.1); c.mean < low || c.mean > high {
					wrong++
					break
				}
			}
		}
		if wrong > 30+11 {
			t.Errorf("%s: %d of 300 are wrong", name, wrong)
		}
		t.Logf("%s: %d of 300 are wrong", name, wrong)
	}
}
