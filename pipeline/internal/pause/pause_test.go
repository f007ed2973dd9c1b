package pause

import (
	"fmt"
	"testing"
	"time"
)

func TestPausesDouble(t *testing.T) {
	var p Pauses
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for i, want := range []time.Duration{10, 20, 40, 80, 160, 320, 600, 600, 600} {
		p.Note("a", true, now)
		if left, n := p.Left("a", now); left != want*time.Second || n != i+1 {
			t.Errorf("failure %d: %v, %d", i+1, left, n)
		}
		if left, _ := p.Left("a", now.Add(left(&p, now))); left != 0 {
			t.Errorf("after the pause: %v", left)
		}
	}
	p.Note("a", false, now)
	p.Note("a", true, now)
	if got := left(&p, now); got != First {
		t.Errorf("after a success: %v", got)
	}
	for i := range 3 * most {
		p.Note(fmt.Sprint(i), true, now)
	}
	if len(p.of) != most {
		t.Errorf("%d names", len(p.of))
	}
}

func left(p *Pauses, now time.Time) time.Duration {
	d, _ := p.Left("a", now)
	return d
}

// A clock that jumps ends a pause early, or lets it begin again. It never makes one longer.
func TestClockJumps(t *testing.T) {
	for _, jump := range []time.Duration{-time.Hour, time.Hour, -876_000 * time.Hour, 876_000 * time.Hour} {
		var p Pauses
		now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
		p.Note("a", true, now)
		now = now.Add(jump)
		if got := left(&p, now); got > First {
			t.Errorf("after a jump of %v: %v are left, want at most %v", jump, got, First)
		}
		now = now.Add(First)
		if got := left(&p, now); got != 0 {
			t.Errorf("after a jump of %v and the whole pause: %v are left, want none", jump, got)
		}
		p.Note("a", true, now)
		if got := left(&p, now); got != 2*First {
			t.Errorf("after a jump of %v and the second failure: %v are left, want %v", jump, got, 2*First)
		}
	}
	var none Pauses
	if got, n := none.Left("a", time.Time{}); got != 0 || n != 0 {
		t.Errorf("nothing failed: %v, %d failures, want none", got, n)
	}
}
