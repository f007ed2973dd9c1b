package fairness

import (
	"container/heap"
	"math"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// HalfLife is the time after which the time that an account used counts for half. It
	// is some hundred turns of accounts that share a slot.
	HalfLife = 250 * time.Millisecond
	// Grain is how much more than a waiting account an account may have used before it
	// hands its slot over. Handing it over takes about a hundredth of that.
	Grain = time.Millisecond
	// Grace is how long a turn may work without a slot, and the least time between two
	// calls of Yields.
	Grace = 100 * time.Microsecond
	// Uninterrupted is how long a turn works before it lets the Go scheduler run other
	// goroutines.
	Uninterrupted = time.Millisecond
	// recount is the least time between two calls of the function that returns the number
	// of slots.
	recount = 100 * time.Millisecond
)

// Queue shares slots between accounts. It is safe for concurrent use.
type Queue struct {
	// now is a clock that only moves forward. slots returns the wanted number of slots.
	now   func() time.Duration
	slots func() int
	// pressed reports that no slot is free. Every turn reads it, and it seldom changes.
	pressed atomic.Bool

	_       [128]byte // keeps the fields above in the caches of all processors
	mu      sync.Mutex
	size    int           // number of slots
	held    int           // slots that turns have
	counted time.Duration // time of the last call of slots
	waiting accounts
}

// NewQueue makes a queue with as many slots as slots returns, but at least one. The queue
// calls slots again from time to time. now is a clock that only moves forward.
func NewQueue(now func() time.Duration, slots func() int) *Queue {
	return &Queue{now: now, slots: slots, size: max(1, slots()), counted: now()}
}

// Pressed reports whether no slot is free. The answer may be out of date.
func (q *Queue) Pressed() bool { return q.pressed.Load() }

// press updates pressed. q.mu is held.
func (q *Queue) press() {
	if p := q.held >= q.size; p != q.pressed.Load() {
		q.pressed.Store(p)
	}
}

// take takes a slot for t if one is free, and reports whether it did. If not, t joins those
// that wait. q.mu is held.
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

// fill gives free slots to the turns that wait, for example after the number of slots grew.
// q.mu is held.
func (q *Queue) fill() {
	for q.held < q.size && len(q.waiting) > 0 {
		q.held++
		q.next()
	}
}

// release gives up a slot, which the next waiting turn gets. q.mu is held.
func (q *Queue) release() {
	q.held--
	q.fill()
	q.press()
}

// next gives a slot to the first waiting turn of the account that has used least. q.mu is
// held.
func (q *Queue) next() {
	t := q.waiting[0].turns[0]
	t.account.remove(t)
	t.granted <- struct{}{} // does not block: a turn gets one slot for each wait
}

// Account measures how much time one of the parties that share the processors used lately.
type Account struct {
	queue *Queue
	// level is the binary logarithm of the used seconds, scaled to time 0: with it the
	// account has used 2^(level - t/HalfLife) seconds at time t. So the level changes only
	// when the account is charged, and the levels of accounts can be compared.
	level float64
	// turns are the turns that wait, in their order. place is the index of the account in
	// the queue, if any turn waits.
	turns []*Turn
	place int
}

// NewAccount returns an account that has used no time.
func (q *Queue) NewAccount() *Account { return &Account{queue: q, level: math.Inf(-1)} }

// Used returns the time that the account used lately.
func (a *Account) Used() time.Duration {
	a.queue.mu.Lock()
	defer a.queue.mu.Unlock()
	return time.Duration(a.used(a.queue.now()) * float64(time.Second))
}

// Waiting returns how many turns of the account wait for a slot.
func (a *Account) Waiting() int {
	a.queue.mu.Lock()
	defer a.queue.mu.Unlock()
	return len(a.turns)
}

// Charge charges the account for work that was done outside of a turn and ends now.
func (a *Account) Charge(took time.Duration) {
	a.queue.mu.Lock()
	defer a.queue.mu.Unlock()
	a.charge(took, a.queue.now())
}

// used returns the time that the account used lately, in seconds. The queue's mutex is held.
func (a *Account) used(now time.Duration) float64 {
	return math.Exp2(a.level - halfLives(now))
}

// charge charges the account for work that ended now. The beginning of long work counts for
// less than its end, because it was done earlier. The queue's mutex is held.
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

// append adds a turn behind those of the account that wait. The queue's mutex is held.
func (a *Account) append(t *Turn) {
	t.waits = true
	a.turns = append(a.turns, t)
	if len(a.turns) == 1 {
		heap.Push(&a.queue.waiting, a)
	}
}

// remove removes a turn from those that wait. The queue's mutex is held.
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

// accounts is a heap of the accounts with waiting turns. The account that used least is first.
type accounts []*Account

func (h accounts) Len() int           { return len(h) }
func (h accounts) Less(i, j int) bool { return h[i].level < h[j].level }

func (h accounts) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].place, h[j].place = i, j
}

func (h *accounts) Push(x any) {
	a := x.(*Account)
	a.place = len(*h)
	*h = append(*h, a)
}

func (h *accounts) Pop() any {
	last := len(*h) - 1
	a := (*h)[last]
	(*h)[last] = nil
	*h = (*h)[:last]
	return a
}

// Turn is the work of an account on one goroutine. No other goroutine may use it.
// [Account.Turn] makes a turn, which may begin again after its end.
//
// A turn charges its account for the time that passed, but not for more than most. Callers
// pass most: the longest time that the work of the turn can have taken so far without
// interruptions. So a goroutine that the scheduler did not run is not charged for that time.
type Turn struct {
	account *Account
	// held reports that the turn has a slot, paused that it needs none, waits that it
	// waits for one. The queue's mutex guards waits.
	held, paused, waits bool
	// since is the time up to which the work is charged. looked is the time of the last
	// call of Yields. ran is the time at which the turn last let other goroutines run.
	since, looked, ran time.Duration
	// most is the value of most at the last charge.
	most time.Duration
	// granted gets a value when a waiting turn gets a slot. It has room for one.
	granted chan struct{}
}
