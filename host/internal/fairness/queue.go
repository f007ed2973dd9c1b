package fairness

import (
	"container/heap"
	"math"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// HalfLife is the time in which what an account used comes to count for half: some
	// hundred turns of those who share a slot.
	HalfLife = 250 * time.Millisecond
	// Grain is how much more than a waiting account another may have used before it hands
	// its slot over. Handing it over takes about a hundredth of that.
	Grain = time.Millisecond
	// Grace is how long a turn works without a slot where nobody waits, and how often it
	// is looked at afterwards.
	Grace = 100 * time.Microsecond
	// Uninterrupted is how long a turn runs before the Go scheduler may run others.
	Uninterrupted = time.Millisecond
	// recount is how often the number of slots is asked for, at most.
	recount = 100 * time.Millisecond
)

// Queue shares slots between accounts. It is safe for concurrent use.
type Queue struct {
	// now is a clock that only moves forward, slots how many slots there are to be.
	now   func() time.Duration
	slots func() int
	// pressed says that no slot is free. It is read by every turn, and seldom written.
	pressed atomic.Bool

	_       [128]byte // what is above stays in the caches of all processors
	mu      sync.Mutex
	size    int // slots there are
	held    int // by turns
	counted time.Duration
	waiting accounts
}

// NewQueue makes a queue with as many slots as slots returns, which is asked again from
// time to time. now is a clock that only moves forward.
func NewQueue(now func() time.Duration, slots func() int) *Queue {
	return &Queue{now: now, slots: slots, size: max(1, slots()), counted: now()}
}

// Pressed reports whether a turn that begins now has to wait, as far as is known.
func (q *Queue) Pressed() bool { return q.pressed.Load() }

// press notes whether a slot is free. q.mu is held.
func (q *Queue) press() {
	if p := q.held >= q.size; p != q.pressed.Load() {
		q.pressed.Store(p)
	}
}

// take takes a slot for t, or makes it wait for one, and reports whether it has one.
// q.mu is held.
func (q *Queue) take(t *Turn, now time.Duration) bool {
	if now-q.counted >= recount {
		q.counted = now
		q.size = max(1, q.slots())
	}
	if q.held >= q.size {
		t.account.append(t)
		q.press()
		return false
	}
	q.held++
	q.fill()
	q.press()
	return true
}

// fill gives slots that are free to who waits, as after their number grew. q.mu is held.
func (q *Queue) fill() {
	for q.held < q.size && len(q.waiting) > 0 {
		q.held++
		q.next()
	}
}

// release gives up a slot, which the next one has. q.mu is held.
func (q *Queue) release() {
	q.held--
	q.fill()
	q.press()
}

// next hands a slot to who waits and has used least. q.mu is held.
func (q *Queue) next() {
	t := q.waiting[0].turns[0]
	t.account.remove(t)
	t.granted <- struct{}{} // there is room: it waits once at a time
}

// Account is what one of those who share the time used lately.
type Account struct {
	queue *Queue
	// level is the binary logarithm of what the account used, in seconds, as it would
	// be at time 0, had it been that much all the time: what was used loses a half in
	// HalfLife, so the level stays as it is until more is used. Levels can be compared.
	level float64
	// turns are those that wait, in their order; place is where the account is in the
	// queue, if any do.
	turns []*Turn
	place int
}

// NewAccount returns an account that has used nothing.
func (q *Queue) NewAccount() *Account { return &Account{queue: q, level: math.Inf(-1)} }

// Used is what the account used lately.
func (a *Account) Used() time.Duration {
	a.queue.mu.Lock()
	defer a.queue.mu.Unlock()
	return time.Duration(a.used(a.queue.now()) * float64(time.Second))
}

// Waiting is how many turns of the account wait for a slot.
func (a *Account) Waiting() int {
	a.queue.mu.Lock()
	defer a.queue.mu.Unlock()
	return len(a.turns)
}

// Charge adds work that was done outside of a turn.
func (a *Account) Charge(took time.Duration) {
	a.queue.mu.Lock()
	defer a.queue.mu.Unlock()
	a.charge(took, a.queue.now())
}

// used is what the account used lately, in seconds. The queue's mutex is held.
func (a *Account) used(now time.Duration) float64 {
	return math.Exp2(a.level - halfLives(now))
}

// charge adds work that ended now. The beginning of long work counts for less than its
// end. The queue's mutex is held.
func (a *Account) charge(took, now time.Duration) {
	if took <= 0 {
		return
	}
	lately := HalfLife.Seconds() / math.Ln2 * -math.Expm1(-math.Ln2*halfLives(took))
	a.level = math.Log2(a.used(now)+lately) + halfLives(now)
	if len(a.turns) > 0 {
		heap.Fix(&a.queue.waiting, a.place)
	}
}

func halfLives(d time.Duration) float64 { return float64(d) / float64(HalfLife) }

// append makes a turn the last of the account that wait. The queue's mutex is held.
func (a *Account) append(t *Turn) {
	t.waits = true
	a.turns = append(a.turns, t)
	if len(a.turns) == 1 {
		heap.Push(&a.queue.waiting, a)
	}
}

// remove takes a turn out of those that wait. The queue's mutex is held.
func (a *Account) remove(t *Turn) {
	t.waits = false
	for i, other := range a.turns {
		if other == t {
			a.turns = append(a.turns[:i], a.turns[i+1:]...)
			break
		}
	}
	if len(a.turns) == 0 {
		heap.Remove(&a.queue.waiting, a.place)
	}
}

// accounts are those of which turns wait, as a heap: who has used least is first.
type accounts []*Account

func (h accounts) Len() int           { return len(h) }
func (h accounts) Less(i, j int) bool { return h[i].level < h[j].level }

func (h accounts) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].place, h[j].place = i, j
}

// Push implements heap.Interface.
func (h *accounts) Push(x any) {
	a := x.(*Account)
	a.place = len(*h)
	*h = append(*h, a)
}

// Pop implements heap.Interface.
func (h *accounts) Pop() any {
	last := len(*h) - 1
	a := (*h)[last]
	(*h)[last] = nil
	*h = (*h)[:last]
	return a
}
