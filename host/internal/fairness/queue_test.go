package fairness

import (
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// hand is a clock that the test moves.
type hand struct{ at atomic.Int64 }

func (h *hand) now() time.Duration      { return time.Duration(h.at.Load()) }
func (h *hand) move(d time.Duration)    { h.at.Add(int64(d)) }
func (h *hand) queue(slots int) *Queue  { return NewQueue(h.now, func() int { return slots }) }
func within(got, want, by float64) bool { return got >= want-by && got <= want+by }

// always is more than any work takes.
const always = 1 << 60

// The time that an account used counts for half after HalfLife, whether it was used at once or
// little by little.
func TestAccountsForget(t *testing.T) {
	h := &hand{}
	q := h.queue(1)
	burst, steady := q.NewAccount(), q.NewAccount()
	if burst.Used() != 0 {
		t.Errorf("a new account used %v", burst.Used())
	}
	h.move(1000 * time.Hour)
	burst.Charge(10 * time.Millisecond)
	if got := burst.Used(); !within(got.Seconds(), 0.01, 0.0002) {
		t.Errorf("used %v (want 10ms)", got)
	}
	h.move(HalfLife)
	if got := burst.Used(); !within(got.Seconds(), 0.005, 0.0001) {
		t.Errorf("used %v after a half-life (want 5ms)", got)
	}
	long := q.NewAccount()
	long.Charge(time.Hour)
	for range 10_000 {
		h.move(time.Millisecond)
		steady.Charge(time.Millisecond)
	}
	h.move(0)
	again := q.NewAccount()
	again.Charge(10 * time.Second)
	if a, b := steady.Used().Seconds(), again.Used().Seconds(); !within(a, b, 0.002) || a > 0.4 {
		t.Errorf("one core used %v in small pieces, %v in one", a, b)
	}
}

// Turns take a slot after Grace, not before.
func TestShortTurnsNeedNoSlot(t *testing.T) {
	h := &hand{}
	q := h.queue(1)
	a := q.NewAccount().Turn()
	a.Begin(h.now())
	h.move(Grace / 2)
	if a.Due(h.now()) || a.Held() || q.Pressed() {
		t.Error("a short turn has a slot")
	}
	h.move(Grace)
	if !a.Due(h.now()) || a.Yields(h.now(), always) || !a.Held() || !q.Pressed() {
		t.Error("a long turn has no slot")
	}
	a.End(always)
	if q.Pressed() || q.held != 0 {
		t.Error("the slot is not free")
	}
}

// A turn hands its slot to an account that used less, and to no other.
func TestLeastUsedIsNext(t *testing.T) {
	h := &hand{}
	q := h.queue(1)
	hog, good, other := q.NewAccount(), q.NewAccount(), q.NewAccount()
	hog.Charge(100 * time.Millisecond)
	other.Charge(50 * time.Millisecond)
	runs := hog.Turn()
	if !runs.Enter(0, nil, nil) {
		t.Fatal("no slot")
	}
	var order []string
	var mu sync.Mutex
	var all sync.WaitGroup
	waits := func(name string, a *Account) {
		before := waiting(q)
		all.Go(func() {
			turn := a.Turn()
			if !turn.Enter(time.Minute, nil, nil) {
				t.Error(name, "has no slot")
			}
			mu.Lock()
			order = append(order, name)
			mu.Unlock()
			turn.End(always)
		})
		for waiting(q) == before {
			time.Sleep(time.Millisecond)
		}
	}
	waits("hog", hog)
	h.move(Grace)
	if runs.Yields(h.now(), always) {
		t.Fatal("yields to its own account")
	}
	waits("other 1", other)
	waits("other 2", other)
	waits("good", good)
	h.move(Grace)
	if !runs.Yields(h.now(), always) || !runs.Wait(time.Minute, nil, nil) {
		t.Fatal("keeps its slot")
	}
	runs.End(always)
	all.Wait()
	if want := []string{"good", "other 1", "other 2", "hog"}; !slices.Equal(order, want) {
		t.Errorf("order %v (want %v)", order, want)
	}
}

func waiting(q *Queue) (n int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, a := range q.waiting {
		n += len(a.turns)
	}
	return n
}

// A goroutine that did not run is not charged.
func TestInterruptedTurns(t *testing.T) {
	h := &hand{}
	a := h.queue(1).NewAccount()
	turn := a.Turn()
	turn.Enter(0, nil, nil)
	turn.Begin(h.now())
	h.move(time.Second)
	turn.End(time.Millisecond)
	if got := a.Used(); got > 2*time.Millisecond {
		t.Errorf("used %v (want 1ms)", got)
	}
}

// A wait ends when its patience is over and at each of its signals, and leaves nothing behind.
func TestWaitsEnd(t *testing.T) {
	h := &hand{}
	q := h.queue(1)
	first := q.NewAccount().Turn()
	first.Enter(0, nil, nil)
	done := make(chan struct{})
	close(done)
	for name, enter := range map[string]func(*Turn) bool{
		"time":   func(t *Turn) bool { return t.Enter(time.Millisecond, nil, nil) },
		"done":   func(t *Turn) bool { return t.Enter(time.Minute, done, nil) },
		"closed": func(t *Turn) bool { return t.Enter(time.Minute, nil, done) },
	} {
		turn := q.NewAccount().Turn()
		if enter(&turn) || turn.Held() || waiting(q) != 0 {
			t.Errorf("%s: has a slot, or still waits", name)
		}
	}
	first.Pause(always)
	if q.held != 0 || first.Due(h.now()+time.Hour) {
		t.Error("a paused turn has a slot or takes one")
	}
	if first.Resume() {
		t.Error("waits for a slot that is free")
	}
}

// The number of slots follows the function that returns it.
func TestSlotsGrow(t *testing.T) {
	h := &hand{}
	slots := 1
	q := NewQueue(h.now, func() int { return slots })
	var turns []Turn
	for range 3 {
		turns = append(turns, q.NewAccount().Turn())
	}
	turns[0].Enter(0, nil, nil)
	if turns[1].Enter(0, nil, nil) {
		t.Fatal("two slots of one")
	}
	slots = 3
	h.move(recount)
	if !turns[1].Enter(0, nil, nil) || !turns[2].Enter(0, nil, nil) {
		t.Error("the new slots are not used")
	}
	slots = 1
	h.move(recount)
	turns[0].End(always)
	turns[1].End(always)
	if turns[0].Enter(0, nil, nil) || q.held != 1 {
		t.Errorf("%d slots are held of one", q.held)
	}
}

// Hogs share a slot evenly, whatever number of turns each has.
func TestHogsShareEvenly(t *testing.T) {
	h := &hand{}
	q := h.queue(1)
	// One goroutine at a time has the slot and moves the clock. They begin together.
	used := make([]time.Duration, 3)
	first := q.NewAccount().Turn()
	first.Enter(0, nil, nil)
	var all sync.WaitGroup
	for i, turns := range []int{1, 2, 5} {
		a := q.NewAccount()
		for range turns {
			all.Go(func() {
				turn := a.Turn()
				if !turn.Enter(time.Minute, nil, nil) {
					t.Error("no slot")
				}
				for h.now() < 10*time.Second {
					h.move(Grace)
					used[i] += Grace
					if turn.Yields(h.now(), h.now()) && !turn.Wait(time.Minute, nil, nil) {
						t.Error("no slot")
						return
					}
				}
				turn.End(always)
			})
		}
	}
	for waiting(q) < 8 {
		time.Sleep(time.Millisecond)
	}
	first.End(always)
	all.Wait()
	for i, u := range used {
		if u < 3*time.Second || u > 4*time.Second {
			t.Errorf("account %d used %v of 10s (want a third)", i, u)
		}
	}
}

// Whatever turns do, they never have more slots than exist, each waiting turn gets an answer,
// and in the end all slots are free.
func TestTurnsAtRandom(t *testing.T) {
	start := time.Now()
	const slots = 3
	q := NewQueue(func() time.Duration { return time.Since(start) }, func() int { return slots })
	var held atomic.Int32
	var all sync.WaitGroup
	gone := make(chan struct{})
	close(gone)
	for i := range 5 {
		a := q.NewAccount()
		for j := range 4 {
			all.Go(func() { wander(t, q, a, &held, slots, rand.New(rand.NewPCG(uint64(i), uint64(j))), gone) })
		}
	}
	all.Wait()
	if q.held != 0 || len(q.waiting) != 0 || q.Pressed() {
		t.Errorf("%d slots held, %d accounts wait, pressed %v", q.held, len(q.waiting), q.Pressed())
	}
}

func wander(t *testing.T, q *Queue, a *Account, held *atomic.Int32, slots int32, rng *rand.Rand, gone <-chan struct{}) {
	turn := a.Turn()
	counted := false
	count := func() { // held is increased late and decreased early, so it is never too high
		if turn.Held() && !counted {
			counted = true
			if n := held.Add(1); n > slots {
				t.Errorf("%d turns have slots of %d", n, slots)
			}
		}
	}
	uncount := func() {
		if counted {
			counted = false
			held.Add(-1)
		}
	}
	for range 300 {
		var done <-chan struct{}
		if rng.IntN(4) == 0 {
			done = gone
		}
		patience := time.Duration(rng.IntN(2000)) * time.Microsecond
		if rng.IntN(2) == 0 {
			turn.Enter(patience, done, nil)
		} else {
			turn.Begin(q.now())
		}
		count()
		for range rng.IntN(20) {
			for end := q.now() + 50*time.Microsecond; q.now() < end; { // as a guest works
			}
			uncount()
			switch now := q.now(); {
			case rng.IntN(8) == 0:
				turn.Pause(now)
				if turn.Resume() && !turn.Wait(patience, done, nil) {
					goto over
				}
			case turn.Due(now):
				if turn.Yields(now, now) && !turn.Wait(patience, done, nil) {
					goto over
				}
			}
			count()
		}
	over:
		uncount()
		turn.End(q.now())
	}
}

// A turn that pauses again and again, each time before it needs a slot, is charged for its work
// and for short pauses. Of a long pause only the beginning counts.
func TestPausesAreNotFree(t *testing.T) {
	h := &hand{}
	q := h.queue(1)
	busy, idle := q.NewAccount(), q.NewAccount()
	turn := busy.Turn()
	turn.Begin(h.now())
	for i := range 100 {
		h.move(Grace / 2)
		turn.Pause(time.Duration(i+1) * time.Second)
		h.move(Grace / 4)
		if turn.Resume() {
			t.Fatal("waits, though a slot is free")
		}
	}
	if used, want := busy.Used(), 75*Grace; !within(used.Seconds(), want.Seconds(), want.Seconds()/50) {
		t.Errorf("used %v (want about %v)", used, want)
	}
	waits := idle.Turn()
	waits.Begin(h.now())
	waits.Pause(always)
	h.move(time.Second)
	waits.Resume()
	if used := idle.Used(); used > Grace {
		t.Errorf("used %v by waiting for a second", used)
	}
}
