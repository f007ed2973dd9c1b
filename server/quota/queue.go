package quota

import (
	"cmp"
	"container/list"
	"context"
	"net/http"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/anchor-host/anchor-host/server"
)

// QueueOptions are the bounds of a [Queue].
type QueueOptions struct {
	// Builds is how many builds run at the same time. 0: as many as there are processors, and at
	// least 2.
	Builds int
	// Waiting is how many more may wait. 0: 64 for each of Builds.
	Waiting int
	// Bytes is the largest size of the requests that wait. 0: 256 MiB.
	Bytes int64
}

func (o QueueOptions) withDefaults() QueueOptions {
	if o.Builds <= 0 {
		o.Builds = max(2, runtime.GOMAXPROCS(0))
	}
	if o.Waiting <= 0 {
		o.Waiting = 64 * o.Builds
	}
	if o.Bytes <= 0 {
		o.Bytes = 256 << 20
	}
	return o
}

// Queue stands in front of the builds. So many run at the same time; the others wait.
//
// A free place goes to the tenant with the fewest running builds, and among those to the one that
// has had the least time. So a tenant that sends a flood waits for itself. A tenant whose build has
// ended still counts as waiting for a moment, unless it has its share already: for as long as the
// build took, a quarter of a second at most. So a client that sends one request after another does
// not wait for a flood each time.
//
// When the queue is full, the newest request of the tenant that waits with most is refused. A
// request whose deadline comes before its turn is refused at once.
//
// A Queue is safe for concurrent use. What it remembers is bounded by its options.
type Queue struct {
	options QueueOptions
	start   time.Time

	mu      sync.Mutex
	shares  map[string]*share
	queued  []*share   // those with waiters
	keeping []*share   // those for which places are kept
	ahead   *list.List // of *share: tenants without builds that had more time than others
	running int
	waiting int
	bytes   int64
	turns   uint64
	virtual time.Duration // the time that a tenant counts as having had when it comes anew
	average time.Duration // of a build
}

// share is what one tenant has of the queue.
type share struct {
	tenant  string
	running int
	waiters list.List // of *waiter, in the order of arrival
	bytes   int64
	had     time.Duration // the time of its builds, compared with Queue.virtual
	turn    uint64        // when it got a place last
	at      int           // its place in queued, if it has waiters
	kept    int           // places that are kept for it, until
	until   time.Duration
	ahead   *list.Element
}

type waiter struct {
	turn  chan error // receives once: nil for its turn
	bytes int64
	place *list.Element // nil when it no longer waits
}

const (
	maxKept  = 250 * time.Millisecond
	maxAhead = 1024 // tenants without builds that are remembered
	// smoothing is the weight of the newest build in the average.
	smoothing = 8
)

// NewQueue makes a queue.
func NewQueue(o QueueOptions) *Queue {
	return &Queue{options: o.withDefaults(), start: time.Now(), shares: map[string]*share{}, ahead: list.New()}
}

// Wait waits until a build of a tenant may run. bytes is the size of its request. release must be
// called once, when the build has ended. If ctx ends first, Wait returns its error. Other errors
// are a [*server.Refusal] with status 503: the queue is full, or the deadline of ctx comes before
// the turn.
func (q *Queue) Wait(ctx context.Context, tenant string, bytes int64) (release func(), err error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	q.mu.Lock()
	s := q.share(tenant)
	w := &waiter{turn: make(chan error, 1), bytes: max(0, bytes)}
	err = q.enqueue(ctx, s, w)
	q.forget(s)
	q.mu.Unlock()
	if err != nil {
		return nil, err
	}
	select {
	case err = <-w.turn:
	case <-ctx.Done():
		if q.leave(s, w) {
			return nil, ctx.Err()
		}
		err = <-w.turn
	}
	if err != nil {
		return nil, err
	}
	began := time.Now()
	return func() { q.release(s, time.Since(began)) }, nil
}

// share returns the share of a tenant. One that comes anew has had as much time as those that run.
func (q *Queue) share(tenant string) *share {
	s := q.shares[tenant]
	if s == nil {
		s = &share{tenant: tenant, had: q.virtual}
		q.shares[tenant] = s
	}
	if s.ahead != nil {
		q.ahead.Remove(s.ahead)
		s.ahead = nil
	}
	return s
}

// enqueue adds a request to the waiting ones of a tenant, if there is room and time for it, and
// lets it run if it can.
func (q *Queue) enqueue(ctx context.Context, s *share, w *waiter) error {
	s.had = max(s.had, q.virtual)
	q.keep(s, max(0, s.kept-1))
	if s.waiters.Len() == 0 && q.mayRun(s) {
		if q.waiting == 0 && len(q.keeping) == 0 {
			q.virtual = s.had // nobody is behind
		}
		q.run(s, w)
		return nil
	}
	wait := q.expected(s)
	if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) < wait {
		return overloaded("the request would wait longer than its deadline allows", wait)
	}
	if err := q.makeRoom(s, w.bytes); err != nil {
		return err
	}
	w.place = s.waiters.PushBack(w)
	s.bytes, q.bytes, q.waiting = s.bytes+w.bytes, q.bytes+w.bytes, q.waiting+1
	if s.waiters.Len() == 1 {
		s.at = len(q.queued)
		q.queued = append(q.queued, s)
	}
	q.dispatch()
	return nil
}

// expected estimates how long a new request of a tenant waits: its own ones before it each wait
// for their turn among the tenants that wait.
func (q *Queue) expected(s *share) time.Duration {
	tenants := len(q.queued)
	if s.waiters.Len() == 0 {
		tenants++
	}
	return q.average * time.Duration(s.waiters.Len()*tenants+1) / time.Duration(q.options.Builds)
}

// makeRoom refuses requests until one of the given size may wait: the newest ones of the tenant
// that waits with most. That may be the tenant of the request itself.
func (q *Queue) makeRoom(s *share, bytes int64) error {
	full := func() bool { return q.waiting >= q.options.Waiting || q.bytes+bytes > q.options.Bytes }
	for full() {
		byBytes := q.bytes+bytes > q.options.Bytes
		size := func(s *share) int64 {
			if byBytes {
				return s.bytes
			}
			return int64(s.waiters.Len())
		}
		own := size(s) + 1
		if byBytes {
			own = size(s) + bytes
		}
		most := s
		for _, other := range q.queued {
			if other != s && size(other) > max(own, size(most)) {
				most = other
			}
		}
		if most == s {
			return overloaded("too many requests wait", q.drained())
		}
		last := most.waiters.Back().Value.(*waiter)
		q.remove(most, last)
		q.forget(most)
		last.turn <- overloaded("too many requests wait", q.drained())
	}
	return nil
}

// drained estimates when half of the waiting requests have run.
func (q *Queue) drained() time.Duration {
	return max(time.Second, q.average*time.Duration(q.waiting/2)/time.Duration(q.options.Builds))
}

func overloaded(message string, wait time.Duration) error {
	return &server.Refusal{
		Status: http.StatusServiceUnavailable, Reason: "overloaded", Message: message,
		Remedy: "try again after the time in Retry-After, or with a later deadline", RetryAfter: max(wait, time.Second),
	}
}

// remove takes a waiter out of the queue.
func (q *Queue) remove(s *share, w *waiter) {
	s.waiters.Remove(w.place)
	w.place = nil
	s.bytes, q.bytes, q.waiting = s.bytes-w.bytes, q.bytes-w.bytes, q.waiting-1
	if s.waiters.Len() == 0 {
		last := q.queued[len(q.queued)-1]
		q.queued[s.at], last.at = last, s.at
		q.queued[len(q.queued)-1] = nil
		q.queued = q.queued[:len(q.queued)-1]
	}
}

// leave takes out a waiter whose client has gone. It returns false if the waiter has its answer
// already.
func (q *Queue) leave(s *share, w *waiter) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if w.place == nil {
		return false
	}
	q.remove(s, w)
	q.forget(s)
	return true
}

// fair is the number of builds that each tenant may run, if all that are there run some.
func (q *Queue) fair() int {
	tenants := max(1, len(q.shares)-q.ahead.Len())
	return (q.options.Builds + tenants - 1) / tenants
}

// before reports whether a free place goes to s rather than to other.
func (s *share) before(other *share) bool {
	switch {
	case s.running != other.running:
		return s.running < other.running
	case s.had != other.had:
		return s.had < other.had
	}
	return s.turn < other.turn
}

// mayRun reports whether a tenant may use one of the free places. Those that are kept for tenants
// before it are not for it.
func (q *Queue) mayRun(s *share) bool {
	free := q.options.Builds - q.running
	for _, other := range q.keeping {
		if other != s && other.before(s) {
			free -= other.kept
		}
	}
	return free > 0
}

// dispatch gives the free places to waiting tenants.
func (q *Queue) dispatch() {
	for len(q.queued) > 0 && q.running < q.options.Builds {
		next, least := q.queued[0], q.queued[0].had
		for _, s := range q.queued[1:] {
			if s.before(next) {
				next = s
			}
			least = min(least, s.had)
		}
		if !q.mayRun(next) {
			return
		}
		q.virtual = max(q.virtual, least)
		w := next.waiters.Front().Value.(*waiter)
		q.remove(next, w)
		q.run(next, w)
	}
}

// run gives a place to a waiter.
func (q *Queue) run(s *share, w *waiter) {
	s.running, q.running = s.running+1, q.running+1
	q.turns++
	s.turn = q.turns
	w.turn <- nil
}

// release gives a place back after a build that took a time.
func (q *Queue) release(s *share, took time.Duration) {
	q.mu.Lock()
	defer q.mu.Unlock()
	s.running, q.running = s.running-1, q.running-1
	s.had += took
	q.average = cmp.Or(q.average, took)
	q.average += (took - q.average) / smoothing
	if tenants := len(q.shares) - q.ahead.Len(); tenants > 1 && s.waiters.Len() == 0 && s.running+s.kept < q.fair() {
		moment := min(took, maxKept)
		s.until = max(s.until, time.Since(q.start)+moment)
		q.keep(s, s.kept+1)
		time.AfterFunc(moment, func() { q.giveUp(s) })
	}
	q.dispatch()
	q.forget(s)
}

// keep sets how many places are kept for a tenant.
func (q *Queue) keep(s *share, n int) {
	switch {
	case s.kept == 0 && n > 0:
		q.keeping = append(q.keeping, s)
	case s.kept > 0 && n == 0:
		q.keeping = slices.DeleteFunc(q.keeping, func(other *share) bool { return other == s })
	}
	s.kept = n
}

// giveUp ends the moment in which places are kept for a tenant, if it is over.
func (q *Queue) giveUp(s *share) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if s.kept == 0 || time.Since(q.start) < s.until {
		return
	}
	q.keep(s, 0)
	q.dispatch()
	q.forget(s)
}

// forget drops a tenant that has nothing here. One that has had more time than others is remembered
// while others are there, so that going away does not help.
func (q *Queue) forget(s *share) {
	if s.running == 0 && s.waiters.Len() == 0 && s.kept == 0 && s.ahead == nil && q.shares[s.tenant] == s {
		if s.had > q.virtual {
			s.ahead = q.ahead.PushBack(s)
		} else {
			delete(q.shares, s.tenant)
		}
	}
	alone := q.running == 0 && q.waiting == 0 && len(q.keeping) == 0
	for e := q.ahead.Front(); e != nil && (alone || q.ahead.Len() > maxAhead || e.Value.(*share).had <= q.virtual); e = q.ahead.Front() {
		old := q.ahead.Remove(e).(*share)
		old.ahead = nil
		delete(q.shares, old.tenant)
	}
	if alone {
		q.virtual = 0
	}
}
