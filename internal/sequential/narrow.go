package sequential

import "math"

const (
	// places is how many parts the means between 0 and 1 are cut into.
	places = 200
	// most bounds a stake, as the share of what a bettor has that one value can take.
	most = 0.75
)

// Narrow bounds the mean of values between 0 and 1, as [Mean] does, and closer if they vary little. The zero value with
// an Error is ready. It takes 4 KB.
//
// For each of some means m it has two bettors, each with 1 at first. The stakes s depend on the values before. One bets that
// the mean is greater, and multiplies what it has by 1 + s(x-m), the other by 1 - s(x-m). If m is the mean, no bet gains on
// average, so that by Ville's inequality either ever has 2/Error with a probability of at most half of Error. Such m are
// refuted for ever (Waudby-Smith and Ramdas, Estimating means of bounded random variables by betting, 2023).
type Narrow struct {
	// Error is the probability with which the mean is ever outside.
	Error float64

	n, sum, spread float64
	greater, less  [places + 1]float64 // the logarithms of what the bettors have
	below, above   int                 // how many means are refuted, from 0 up and from 1 down
}

// Add adds a value. One that is no number does not count.
func (b *Narrow) Add(x float64) {
	if math.IsNaN(x) {
		return
	}
	x = min(max(x, 0), 1)
	b.n++
	enough := math.Log(2 / b.Error)
	stake := math.Sqrt(2 * enough / ((0.25 + b.spread) * math.Log(b.n+1)))
	b.sum += x
	off := x - (0.5+b.sum)/(b.n+1)
	b.spread += off * off
	first, last := b.below, places-b.above
	for i := first; i <= last; i++ {
		m := float64(i) / places
		b.greater[i] += math.Log1p(min(stake, most/m) * (x - m))
		b.less[i] += math.Log1p(-min(stake, most/(1-m)) * (x - m))
		// What a bettor has never grows with the distance of m from what it bets on, so that all m beyond are refuted too.
		if b.greater[i] >= enough {
			b.below = i + 1
		}
		if b.less[i] >= enough {
			b.above = max(b.above, places-i+1)
		}
	}
}

// Interval returns the mean of the values, and the ends of the interval. Without values these are 0, and 0 to 1.
func (b *Narrow) Interval() (mean, low, high float64) {
	mean = b.sum / max(1, b.n)
	low, high = float64(max(0, b.below-1))/places, 1-float64(max(0, b.above-1))/places
	if b.n == 0 {
		return 0, 0, 1
	}
	return mean, min(low, mean), max(high, mean)
}
