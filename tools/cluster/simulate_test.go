package main

import (
	"testing"
	"time"
)

func mean(times []time.Duration) time.Duration {
	sum := time.Duration(0)
	for _, t := range times {
		sum += t
	}
	return sum / time.Duration(len(times))
}

// A host that works at all of its builds at once takes demand / (1 - load) for each: theory says so for arrivals by
// chance.
func TestSimulatedHostIsAsTheorySays(t *testing.T) {
	p := plan{hosts: 1, share: 1, demand: 10 * time.Millisecond, rate: 50, conversations: 1, length: 10 * time.Minute, seed: 1}
	if got := mean(p.simulate()); got < 18*time.Millisecond || got > 22*time.Millisecond {
		t.Errorf("half of its load: %v, want about 20 ms", got)
	}
	p.rate, p.demand = 1, 100*time.Millisecond
	p.share = 0.1 // 2 of 20 ms: the hundredth millisecond of work is in the fiftieth period
	if got := mean(p.simulate()); got < 980*time.Millisecond {
		t.Errorf("a tenth of a core: %v, want a second or more", got)
	}
}

// No build is lost when a host dies, and all take longer while the others have more to do.
func TestSimulatedHostDies(t *testing.T) {
	p := plan{hosts: 3, share: 0.5, demand: 10 * time.Millisecond, rate: 75, conversations: 100, skew: 1, length: time.Minute, seed: 2}
	before := p.simulate()
	p.from, p.to = 20*time.Second, 40*time.Second
	after := p.simulate()
	if n := len(p.arrivals()); len(before) != n || len(after) != n {
		t.Errorf("%d and %d of %d builds", len(before), len(after), n)
	}
	if mean(after) <= mean(before) {
		t.Errorf("%v with two hosts, %v with three", mean(after), mean(before))
	}
}
