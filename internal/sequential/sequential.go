// Package sequential bounds means from samples that grow, at all times at once: one may look as often as one
// likes, and stop when one likes.
package sequential

import "math"

// Mean returns the ends of an interval that has the mean of values between 0 and 1, of which there are n with
// a sum. For a share, the sum is the number of successes. The probability that the mean is ever outside, at any n,
// is at most a. Without values it is 0 to 1. The values must be independent of each other.
//
// The interval has all p with B(s+½, n-s+½) / B(½, ½) < pˢ(1-p)ⁿ⁻ˢ / a, where s is the sum and B the beta function.
// The left side divided by pˢ(1-p)ⁿ⁻ˢ is the mean of the products of (q/p)ˣ((1-q)/(1-p))¹⁻ˣ over all q with the
// weights of a beta distribution. Each factor has at most the mean 1 if the mean of the values is p, so that by
// Ville's inequality the product ever reaches 1/a with a probability of at most a.
func Mean(sum float64, n int64, a float64) (low, high float64) {
	if n <= 0 {
		return 0, 1
	}
	x := min(max(sum, 0), float64(n))
	y := float64(n) - x
	level := logBeta(x+0.5, y+0.5) - logBeta(0.5, 0.5) + math.Log(a)
	inside := func(p float64) float64 { // which has one maximum, at the mean
		v := -level
		if x > 0 {
			v += x * math.Log(p)
		}
		if y > 0 {
			v += y * math.Log1p(-p)
		}
		return v
	}
	mean := x / (x + y)
	return search(inside, mean, 0), search(inside, mean, 1)
}

// search returns the place between in, where f is positive, and out at which f changes its sign, or out.
func search(f func(float64) float64, in, out float64) float64 {
	if f(out) > 0 {
		return out
	}
	for range 60 {
		if mid := (in + out) / 2; f(mid) > 0 {
			in = mid
		} else {
			out = mid
		}
	}
	return out
}

func logBeta(a, b float64) float64 {
	x, _ := math.Lgamma(a)
	y, _ := math.Lgamma(b)
	z, _ := math.Lgamma(a + b)
	return x + y - z
}
