package cluster

import (
	"fmt"
	"math"

	"github.com/anchor-host/anchor-host/internal/sequential"
)

// Figures are the numbers of a version.
type Figures struct {
	// Builds and Failed are as in [Counts].
	Builds int64 `json:"builds"`
	Failed int64 `json:"failed"`
	// P50 and P95 are the latencies in milliseconds that half of the builds, and 95 of 100, do not exceed.
	P50 float64 `json:"p50_ms"`
	P95 float64 `json:"p95_ms"`
	// Fuel50 and Fuel95 are the same of the fuel, in millions.
	Fuel50 float64 `json:"p50_fuel_millions"`
	Fuel95 float64 `json:"p95_fuel_millions"`
}

// Finding is one bound that the candidate is beyond.
type Finding struct {
	// Measure is failures, latency or fuel.
	Measure string `json:"measure"`
	// Text says it in a sentence, with the numbers.
	Text string `json:"text"`
}

// Numbers compare two versions.
type Numbers struct {
	Stable    Figures `json:"stable"`
	Candidate Figures `json:"candidate"`
	// Beyond are the bounds that the candidate is beyond. Empty: none so far.
	Beyond []Finding `json:"beyond,omitempty"`
}

func figures(c *Counts) Figures {
	return Figures{
		c.Builds, c.Failed, c.Latency.Quantile(0.5) / 1000, c.Latency.Quantile(0.95) / 1000, c.Fuel.Quantile(0.5) / 1000, c.Fuel.Quantile(0.95) / 1000,
	}
}

// margin is the share of the builds that may be beyond the bounds of latency and fuel.
const margin = 0.05

// Judge compares a candidate with the stable version. It may be called as often as one likes while the
// counts grow: the probability that it ever finds a candidate beyond a bound that it keeps is at most
// [Bounds.Error].
//
// Each measure is a comparison of two shares: of the builds that fail, and of those that need more than a
// value. A share is known as the interval of [sequential.Mean], which has it at all times at once. A candidate
// is beyond a bound if the lower end of its interval is above the upper end of that of the stable version, plus what the
// bound allows. The error is divided by three for
// the measures, by two for the versions, and for latency and fuel by the number of values, [Spread]. So
// latency 1.5 means: for every t, at most 5 percent more builds of the candidate need over 1.5 t than builds
// of the stable version need over t; 1.5 is rounded up to the next class.
//
// Builds count as independent of each other, and as drawn from the same requests for both versions.
func Judge(p *Pair, b Bounds) *Numbers {
	b = b.withDefaults()
	stable, candidate := &p.Stable, &p.Candidate
	n := &Numbers{Stable: figures(stable), Candidate: figures(candidate)}
	if candidate.Builds < b.Least {
		return n
	}
	a := b.Error / 3 / 2
	low, _ := interval(candidate.Failed, candidate.Builds, a)
	if _, high := interval(stable.Failed, stable.Builds, a); low > high+b.Failures {
		n.Beyond = append(n.Beyond, Finding{"failures", fmt.Sprintf(
			"%d of %d builds failed or lacked a step, which is at least %.2f %% of all; the stable version has at most %.2f %%, and %.2f more are allowed",
			candidate.Failed, candidate.Builds, 100*low, 100*high, 100*b.Failures)})
	}
	for _, m := range []struct {
		name, unit string
		c, s       *Spread
		times      float64
	}{{"latency", "ms", &candidate.Latency, &stable.Latency, b.Latency}, {"fuel", "million", &candidate.Fuel, &stable.Fuel, b.Fuel}} {
		if at, low, high, ok := slower(m.c, m.s, m.times, a/classes); ok {
			n.Beyond = append(n.Beyond, Finding{m.name, fmt.Sprintf(
				"at least %.1f %% of the builds need more than %.4g %s, which is over %g times of what all but %.1f %% of the stable version need",
				100*low, at/1000, m.unit, m.times, 100*high)})
		}
	}
	return n
}

// slower finds a value that more candidates exceed than the bound allows. It looks at all of them and returns
// the clearest one.
func slower(candidate, stable *Spread, times, a float64) (at, low, high float64, found bool) {
	nc, cs := candidate.sum()
	ns, ss := stable.sum()
	shift := int(math.Ceil(perDouble*math.Log2(times) - 1e-9))
	best := 0.0
	for k := 0; k+shift < classes; k++ {
		c, s := float64(cs[k+shift])/float64(nc), float64(ss[k])/float64(max(1, ns))
		if c <= s+margin { // cannot be significant
			continue
		}
		l, _ := interval(cs[k+shift], nc, a)
		_, h := interval(ss[k], ns, a)
		if clear := l - h - margin; clear > best {
			best, at, low, high, found = clear, math.Exp2(float64(k+shift)/perDouble), l, h, true
		}
	}
	return at, low, high, found
}

// interval bounds a share, see [Judge].
func interval(s, n int64, a float64) (low, high float64) { return sequential.Mean(float64(s), n, a) }
