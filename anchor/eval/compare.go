package eval

import (
	"math"
	"math/rand/v2"
	"slices"
)

const (
	// Resamples is the number of resamples of a bootstrap, and of random sign changes of
	// a randomisation test.
	Resamples = 10_000
	// Confidence is the share of resamples within an interval.
	Confidence = 0.95
	// exactPairs is the largest number of unequal pairs for which all sign changes are tried.
	exactPairs = 13
	// equal is the largest difference of two values that counts as rounding.
	equal = 1e-12
)

// Difference compares two runs in one metric, query by query: the other run minus the base.
type Difference struct {
	Metric     string  `json:"metric"`
	Base       float64 `json:"base"`
	Other      float64 `json:"other"`
	Difference float64 `json:"difference"`
	// Low and High bound the difference. They are percentiles of a bootstrap over the
	// queries, with 10,000 resamples that are the same in each run.
	Low  float64 `json:"low"`
	High float64 `json:"high"`
	// P is the probability of a difference of at least this size if the runs are equally
	// good. It comes from a two-sided paired randomisation test, which is exact if few
	// pairs are unequal.
	P float64 `json:"p"`
	// Better, Worse and Equal are numbers of queries.
	Better int `json:"better"`
	Worse  int `json:"worse"`
	Equal  int `json:"equal"`
}

// Compare compares paired values. Both lists must have the same length, which must not be 0.
func Compare(metric string, base, other []float64) Difference {
	d := Difference{Metric: metric, Base: mean(base), Other: mean(other)}
	differences := make([]float64, len(base))
	for i := range base {
		switch x := other[i] - base[i]; {
		case math.Abs(x) <= equal:
			d.Equal++
		case x > 0:
			d.Better++
			differences[i] = x
		default:
			d.Worse++
			differences[i] = x
		}
	}
	d.Difference = mean(differences)
	d.Low, d.High = bootstrap(differences)
	d.P = randomisation(differences)
	return d
}

func mean(values []float64) float64 {
	sum := 0.0
	for _, v := range values {
		sum += v
	}
	return sum / float64(len(values))
}

// bootstrap returns the percentiles of the means of resamples.
func bootstrap(differences []float64) (low, high float64) {
	random := rand.New(rand.NewPCG(1, 2))
	means := make([]float64, Resamples)
	n := len(differences)
	for i := range means {
		sum := 0.0
		for range n {
			sum += differences[random.IntN(n)]
		}
		means[i] = sum / float64(n)
	}
	slices.Sort(means)
	tail := int(math.Round((1 - Confidence) / 2 * Resamples))
	return means[tail], means[Resamples-1-tail]
}

// randomisation returns the share of sign changes whose sum is at least as far from 0 as the
// observed sum.
func randomisation(differences []float64) float64 {
	unequal := slices.DeleteFunc(slices.Clone(differences), func(x float64) bool { return x == 0 })
	observed := 0.0
	for _, x := range unequal {
		observed += x
	}
	observed = math.Abs(observed) - equal*float64(len(unequal)) // sums round differently
	extreme := func(flips func(i int) bool) int {
		sum := 0.0
		for i, x := range unequal {
			if flips(i) {
				x = -x
			}
			sum += x
		}
		if math.Abs(sum) >= observed {
			return 1
		}
		return 0
	}
	count := 0
	if len(unequal) <= exactPairs {
		all := 1 << len(unequal)
		for mask := range all {
			count += extreme(func(i int) bool { return mask>>i&1 == 1 })
		}
		return float64(count) / float64(all)
	}
	random := rand.New(rand.NewPCG(3, 4))
	for range Resamples {
		count += extreme(signs(random))
	}
	return float64(count+1) / float64(Resamples+1)
}

// signs returns a function that returns a random bit for each index in turn.
func signs(random *rand.Rand) func(int) bool {
	var bits uint64
	return func(i int) bool {
		if i%64 == 0 {
			bits = random.Uint64()
		}
		bit := bits&1 == 1
		bits >>= 1
		return bit
	}
}
