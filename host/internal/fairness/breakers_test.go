package fairness

import (
	"fmt"
	"testing"
	"time"
)

// What one caller asks for has only that caller rest.
func TestRestsOfCallers(t *testing.T) {
	now := time.Duration(0)
	r := NewBreakers(Rules{After: 2, First: time.Second, Most: time.Minute}, func() time.Duration { return now })
	if r.Troubled() {
		t.Error("troubled before any work")
	}
	for range 2 {
		r.Done("a", false, Bad)
		r.Done("b", false, Good)
	}
	if _, ok := r.Admit("a"); ok {
		t.Error("a does not rest after 2 failures")
	}
	if _, ok := r.Admit("b"); !ok {
		t.Error("b is paused, and nothing of it failed")
	}
	if s := r.Worst(); s.State != Open || s.Failures != 2 || s.Times != 1 || s.Left != time.Second {
		t.Errorf("the worst is %+v", s)
	}
	now = time.Second
	probe, ok := r.Admit("a")
	if !probe || !ok {
		t.Errorf("after the pause: probe %v, admitted %v", probe, ok)
	}
	if !r.Done("a", probe, Good) || r.Troubled() {
		t.Error("a good probe does not end the pause")
	}
	if s := r.Worst(); s.State != Closed || s.Times != 1 {
		t.Errorf("after it: %+v, want closed and 1 rest", s)
	}
}

// However many callers fail, a bounded number is known, and those that rest stay.
func TestRestsAreBounded(t *testing.T) {
	r := NewBreakers(Rules{After: 2, First: time.Second, Most: time.Minute}, func() time.Duration { return 0 })
	r.Done("broken", false, Bad)
	r.Done("broken", false, Bad)
	for i := range 3 * maxBroken {
		r.Done(fmt.Sprint(i), false, Bad)
	}
	if len(r.of) > maxBroken {
		t.Errorf("%d callers are known, want at most %d", len(r.of), maxBroken)
	}
	if s := r.Status("broken"); s.State != Open {
		t.Errorf("the one that is paused is %+v", s)
	}
}
