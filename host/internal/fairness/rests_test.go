package fairness

import (
	"fmt"
	"testing"
	"time"
)

// What one caller asks for has only that caller rest.
func TestRestsOfCallers(t *testing.T) {
	now := time.Duration(0)
	r := NewRests(Rules{After: 2, First: time.Second, Most: time.Minute}, func() time.Duration { return now })
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
		t.Error("b rests, and nothing of it failed")
	}
	if s := r.Worst(); s.State != Open || s.Failures != 2 || s.Times != 1 || s.Left != time.Second {
		t.Errorf("the worst is %+v", s)
	}
	now = time.Second
	probe, ok := r.Admit("a")
	if !probe || !ok {
		t.Errorf("after the rest: probe %v, admitted %v", probe, ok)
	}
	if !r.Done("a", probe, Good) || r.Troubled() {
		t.Error("a good probe does not end the rest")
	}
	if s := r.Worst(); s.State != Closed || s.Times != 1 {
		t.Errorf("after it: %+v, want closed and 1 rest", s)
	}
}

// However many callers fail, a bounded number is known, and those that rest stay.
func TestRestsAreBounded(t *testing.T) {
	r := NewRests(Rules{After: 2, First: time.Second, Most: time.Minute}, func() time.Duration { return 0 })
	r.Done("rests", false, Bad)
	r.Done("rests", false, Bad)
	for i := range 3 * maxResting {
		r.Done(fmt.Sprint(i), false, Bad)
	}
	if len(r.of) > maxResting {
		t.Errorf("%d callers are known, want at most %d", len(r.of), maxResting)
	}
	if s := r.Status("rests"); s.State != Open {
		t.Errorf("the one that rests is %+v", s)
	}
}
