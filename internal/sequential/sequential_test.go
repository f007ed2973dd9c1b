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

// Of 300 samples that are looked at after each value, no more than the error of 0.1 allows ever exclude the mean from the interval of
// Narrow, by two standard deviations: also where the mean is at no place that is tried, and where most values are equal.
func TestNarrowHoldsItsError(t *testing.T) {
	for name, c := range map[string]struct {
		mean float64
		draw func(*rand.Rand) float64
	}{
		"share of 0.05": {0.05, func(r *rand.Rand) float64 { return map[bool]float64{true: 1}[r.Float64() < 0.05] }},
		"share of 0.5":  {0.5, func(r *rand.Rand) float64 { return float64(r.IntN(2)) }},
		"uniform":       {0.5, (*rand.Rand).Float64},
		"other places":  {0.7525, func(r *rand.Rand) float64 { return 0.505 + 0.495*r.Float64() }},
		"mostly equal":  {0.54, func(r *rand.Rand) float64 { return 0.5 + map[bool]float64{true: 0.4}[r.IntN(10) == 0] }},
	} {
		wrong := 0
		for seed := range 300 {
			r, b := rand.New(rand.NewPCG(7, uint64(seed))), &Narrow{Error: 0.1}
			for range 200 {
				b.Add(c.draw(r))
				if mean, low, high := b.Interval(); c.mean < low || c.mean > high || mean < low || mean > high {
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

// Narrow is a third as wide as Mean where most values are equal, and no value from outside breaks it.
func TestNarrow(t *testing.T) {
	b, sum := &Narrow{Error: 0.01}, 0.0
	if mean, low, high := b.Interval(); mean != 0 || low != 0 || high != 1 {
		t.Errorf("without values: %v, %v to %v", mean, low, high)
	}
	for i := range 1000 {
		x := 0.5 + 0.2*float64(i%10/9)
		b.Add(x)
		sum += x
	}
	mean, low, high := b.Interval()
	from, to := Mean(sum, 1000, 0.01)
	if math.Abs(mean-0.52) > 1e-9 || low <= 0.5 || high-low > (to-from)/3 {
		t.Errorf("%v, %v to %v; of Mean %v to %v", mean, low, high, from, to)
	}
	b = &Narrow{Error: 0.01}
	for range 2000 {
		for _, x := range []float64{math.NaN(), math.Inf(-1), -3, 0} {
			b.Add(x)
		}
	}
	if mean, low, high = b.Interval(); mean != 0 || low != 0 || high > 0.02 {
		t.Errorf("of nothing but 0: %v, %v to %v", mean, low, high)
	}
	for range 2000 {
		b.Add(math.Inf(1))
	}
	if mean, low, high = b.Interval(); !(low <= mean && mean <= high) {
		t.Errorf("%v, %v to %v", mean, low, high)
	}
}
