package cluster

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"time"
)

// traffic makes builds of both versions in the ratio of a share, and asks for a judgement after every round.
type traffic struct {
	rnd           *rand.Rand
	share         float64
	fail, badFail float64 // shares of builds that fail
	slow, fuel    float64 // times
}

// run returns after how many builds of the candidate it is beyond a bound, 0 if it never is within n.
func (t *traffic) run(n int) (int64, *Numbers) {
	var p Pair
	for i := 1; i <= n; i++ {
		took := 20 * math.Exp(0.7*t.rnd.NormFloat64()) // ms
		fuel := 3e6 * math.Exp(0.3*t.rnd.NormFloat64())
		if t.rnd.Float64() < t.share {
			p.Candidate.Add(t.rnd.Float64() < t.badFail, time.Duration(took*t.slow*1e6), int64(fuel*t.fuel))
		} else {
			p.Stable.Add(t.rnd.Float64() < t.fail, time.Duration(took*1e6), int64(fuel))
		}
		if i%200 == 0 {
			if numbers := Judge(&p, Bounds{Error: 0.05}); len(numbers.Beyond) > 0 {
				return p.Candidate.Builds, numbers
			}
		}
	}
	return 0, nil
}

// Of 300 rollouts of the same version, each judged 40 times, no more are taken back than the error allows. The same
// holds for a candidate that is exactly at the bound of the failures.
func TestJudgeHoldsItsError(t *testing.T) {
	for name, bad := range map[string]float64{"same": 0.02, "at the bound": 0.03} {
		reverts := 0
		for seed := range 300 {
			x := traffic{rand.New(rand.NewPCG(1, uint64(seed))), 0.3, 0.02, bad, 1, 1}
			if n, numbers := x.run(8000); n > 0 {
				t.Logf("%s, seed %d: %+v", name, seed, numbers.Beyond)
				reverts++
			}
		}
		if reverts > 15 { // 5 percent of 300
			t.Errorf("%s: %d of 300 are taken back", name, reverts)
		}
		t.Logf("%s: %d of 300 are taken back", name, reverts)
	}
}

// What is worse is found, and soon.
func TestJudgeFinds(t *testing.T) {
	for name, c := range map[string]struct {
		traffic
		measure string
		within  int64
	}{
		"failures of 5 %": {traffic{share: 0.1, fail: 0.002, badFail: 0.05, slow: 1, fuel: 1}, "failures", 1000},
		"twice as slow":   {traffic{share: 0.1, slow: 2.2, fuel: 1}, "latency", 1200},
		"twice the fuel":  {traffic{share: 0.1, slow: 1, fuel: 2}, "fuel", 300},
		"all fail":        {traffic{share: 0.01, badFail: 1, slow: 1, fuel: 1}, "failures", 60},
	} {
		worst := int64(0)
		for seed := range 20 {
			c.rnd = rand.New(rand.NewPCG(2, uint64(seed)))
			n, numbers := c.run(40_000)
			if n == 0 || numbers.Beyond[0].Measure != c.measure || !strings.Contains(numbers.Beyond[0].Text, "at least") {
				t.Fatalf("%s, seed %d: %d, %+v", name, seed, n, numbers)
			}
			worst = max(worst, n)
		}
		if worst > c.within {
			t.Errorf("%s: found after %d builds, want %d", name, worst, c.within)
		}
		t.Logf("%s: found after %d builds of the candidate at most", name, worst)
	}
}

// Nothing is decided on a few requests.
func TestJudgeWaits(t *testing.T) {
	var p Pair
	for range 1000 {
		p.Stable.Add(false, time.Millisecond, 1e6)
	}
	for range 49 {
		p.Candidate.Add(true, time.Minute, 1e9)
	}
	if n := Judge(&p, Bounds{}); len(n.Beyond) != 0 {
		t.Errorf("after 49 builds: %+v", n.Beyond)
	}
	p.Candidate.Add(true, time.Minute, 1e9)
	if n := Judge(&p, Bounds{}); len(n.Beyond) != 3 {
		t.Errorf("after 50 builds: %+v", n.Beyond)
	}
}

func TestSpread(t *testing.T) {
	var s Spread
	for v := range int64(1000) {
		s.Add(v)
	}
	if q := s.Quantile(0.5); q < 500 || q > 500*1.1 {
		t.Errorf("the median is %v", q)
	}
	s.Add(math.MaxInt64)
	s.Add(-1)
	text, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	var back Spread
	if err := json.Unmarshal(text, &back); err != nil || !reflect.DeepEqual(s, back) {
		t.Errorf("%s is read as %v, %v", text, back, err)
	}
	for _, bad := range []string{`[[256,1]]`, `[[-1,1]]`, `[[0,-1]]`, `{}`, `[[1]`} {
		if json.Unmarshal([]byte(bad), &back) == nil {
			t.Errorf("%s is read", bad)
		}
	}
}
