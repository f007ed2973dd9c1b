package fairness

import (
	"math/rand/v2"
	"sync"
	"testing"
	"time"
)

func TestRest(t *testing.T) {
	h := &hand{}
	r := NewBreaker(Rules{After: 3, First: time.Second, Most: 3 * time.Second}, h.now)
	do := func(how Outcome, want bool) (changed bool) {
		t.Helper()
		probe, ok := r.Admit()
		if ok != want {
			t.Fatalf("admitted %v at %v, %+v", ok, h.now(), r.Status())
		}
		return ok && r.Done(probe, how)
	}
	do(Bad, true)
	do(Bad, true)
	do(Good, true) // which resets the failures in a row
	do(Bad, true)
	do(Neutral, true) // which does not
	do(Bad, true)
	if !do(Bad, true) || r.Status() != (Status{State: Open, Failures: 3, Times: 1, Left: time.Second, Length: time.Second}) {
		t.Fatalf("%+v", r.Status())
	}
	do(Good, false)
	h.move(time.Second)
	if r.Status().State != HalfOpen {
		t.Fatalf("%+v", r.Status())
	}
	probe, ok := r.Admit()
	if !probe || !ok {
		t.Fatal("no probe")
	}
	do(Good, false) // one at a time
	if r.Done(probe, Neutral) {
		t.Fatal("a probe that says nothing changes something")
	}
	if !do(Bad, true) || r.Status().Length != 2*time.Second {
		t.Fatalf("%+v (want a pause of 2s)", r.Status())
	}
	if r.Done(false, Good) || r.Status().State != Open {
		t.Fatal("what began before the pause ends it")
	}
	for range 3 {
		h.move(3 * time.Second)
		if !do(Bad, true) || r.Status().Length != 3*time.Second {
			t.Fatalf("%+v (want a pause of 3s)", r.Status())
		}
	}
	h.move(3 * time.Second)
	if !do(Good, true) || r.Status() != (Status{State: Closed, Times: 5}) || r.Troubled() {
		t.Fatalf("%+v", r.Status())
	}
}

func TestNeverBroken(t *testing.T) {
	r := NewBreaker(Rules{After: -1}, (&hand{}).now)
	for range 100 {
		probe, ok := r.Admit()
		if !ok || probe || r.Done(probe, Bad) {
			t.Fatalf("refused: %+v", r.Status())
		}
	}
	if !r.Troubled() || r.Status().Failures != 100 {
		t.Errorf("%+v", r.Status())
	}
}

// However work ends, an account is admitted again once its probes are good.
func TestRestsAtRandom(t *testing.T) {
	h := &hand{}
	r := NewBreaker(Rules{After: 3, First: time.Second, Most: time.Minute}, h.now)
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			rng := rand.New(rand.NewPCG(1, uint64(i)))
			for range 5000 {
				if probe, ok := r.Admit(); ok {
					h.move(time.Duration(rng.IntN(1000)) * time.Millisecond)
					r.Done(probe, Outcome(rng.IntN(3)))
				} else {
					h.move(time.Millisecond)
				}
			}
		})
	}
	all.Wait()
	h.move(time.Minute)
	if probe, ok := r.Admit(); !ok {
		t.Fatalf("not admitted: %+v", r.Status())
	} else {
		r.Done(probe, Good)
	}
	if s := r.Status(); s.State != Closed {
		t.Errorf("%+v", s)
	}
}
