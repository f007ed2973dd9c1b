package compile

import (
	"context"
	"fmt"
	"slices"
	"sync"
)

// maxPassed is how many compilations may pass one that waits. Without a bound, a large module
// could wait for ever behind small ones.
const maxPassed = 16

// queue admits compilations as long as their estimates together stay below a limit, and no more
// of them than there are processors: more would take memory and gain no time. One that does not
// fit waits, and at most maxPassed smaller ones pass it. One that exceeds the limit runs alone.
type queue struct {
	// limit is the sum of estimates in bytes, most the number of compilations.
	limit int64
	most  int

	mu      sync.Mutex
	used    int64
	running int
	waiters []*waiter
}

// waiter is a compilation that waits. passed is how many were admitted before it that came
// after it.
type waiter struct {
	n      int64
	passed int
	in     chan struct{}
}

// enter waits until n bytes fit, and returns the function that gives them back. The error
// wraps the cause of the end of ctx.
func (q *queue) enter(ctx context.Context, n int64) (leave func(), err error) {
	n = min(n, q.limit)
	w := &waiter{n: n, in: make(chan struct{})}
	q.mu.Lock()
	q.waiters = append(q.waiters, w)
	q.admit()
	q.mu.Unlock()
	select {
	case <-w.in:
		return func() { q.leave(n) }, nil
	case <-ctx.Done():
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if i := slices.Index(q.waiters, w); i >= 0 {
		q.waiters = slices.Delete(q.waiters, i, i+1)
	} else { // it was admitted meanwhile
		q.used, q.running = q.used-n, q.running-1
	}
	q.admit()
	return nil, fmt.Errorf("wait for other modules that are being loaded: %w", context.Cause(ctx))
}

func (q *queue) leave(n int64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.used, q.running = q.used-n, q.running-1
	q.admit()
}

// admit admits all who fit, in their order, up to one that does not and has been passed often
// enough. q.mu is held.
func (q *queue) admit() {
	var left []*waiter
	for i, w := range q.waiters {
		if q.running == q.most {
			left = append(left, q.waiters[i:]...)
			break
		}
		if w.n <= q.limit-q.used {
			q.used, q.running = q.used+w.n, q.running+1
			close(w.in)
			for _, passed := range left {
				passed.passed++
			}
			continue
		}
		left = append(left, w)
		if w.passed >= maxPassed {
			left = append(left, q.waiters[i+1:]...)
			break
		}
	}
	q.waiters = left
}
