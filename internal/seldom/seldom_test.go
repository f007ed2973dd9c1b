package seldom

import (
	"testing"
	"time"
)

// Each kind is said again after a while, with how often it came meanwhile. Names out of requests take
// no room for ever.
func TestKindsAreSaidNowAndThen(t *testing.T) {
	var kinds Kinds[int]
	now := time.Now()
	for i, want := range []struct {
		after  time.Duration
		unsaid int
		due    bool
	}{{0, 0, true}, {time.Second, 0, false}, {2 * time.Second, 0, false}, {every, 2, true}, {every + time.Second, 0, false}} {
		if unsaid, due := kinds.Due(7, now.Add(want.after)); unsaid != want.unsaid || due != want.due {
			t.Errorf("%d: %d unsaid, due %v; want %d, %v", i, unsaid, due, want.unsaid, want.due)
		}
	}
	for i := range 3 * most {
		kinds.Due(i, now)
	}
	if n := len(kinds.said); n > most {
		t.Errorf("%d kinds are known, want at most %d", n, most)
	}
}

// What came often and then no more is counted once, also if nothing of its kind follows.
func TestLateKindsAreCounted(t *testing.T) {
	var kinds Kinds[int]
	now := time.Now()
	for range 5 {
		kinds.Due(7, now)
	}
	kinds.Due(8, now)
	for i, want := range []struct {
		after  time.Duration
		unsaid int
	}{{0, 0}, {every - 1, 0}, {every, 4}, {3 * every, 0}} {
		late := kinds.Late(now.Add(want.after))
		if late[7] != want.unsaid || late[8] != 0 {
			t.Errorf("%d: %v, want %d", i, late, want.unsaid)
		}
	}
}
