package pool

import (
	"context"
	"errors"
	"math"
	"slices"
	"time"
)

// How a pool gives up values that others need the room of, and how a borrower exchanges
// the value that it was lent for another.

// surplus is how many values the pool has beyond those that it keeps. Values that are being
// made do not count. p.mu is held.
func (p *Pool[T]) surplus() int {
	if p.closed {
		return 0
	}
	return p.total - p.making - p.leaving - max(1, p.min)
}

// leastRecent returns the index of the idle value that was used longest ago, and when that
// was; -1 and math.MaxInt64 where none is idle. p.mu is held.
func (p *Pool[T]) leastRecent() (index int, at time.Duration) {
	index, at = -1, math.MaxInt64
	for i, v := range p.idle {
		if t := p.stamp(v); t < at {
			index, at = i, t
		}
	}
	return index, at
}

// Oldest returns when the idle value was used that was used longest ago, math.MaxInt64
// where none is idle. surplus is false where the pool keeps all that it has.
func (p *Pool[T]) Oldest() (at time.Duration, surplus bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.surplus() <= 0 {
		return 0, false
	}
	_, at = p.leastRecent()
	return at, true
}

// Reclaim closes the idle value that was used longest ago, if that was before a time and
// the pool need not keep it. It reports whether it did.
func (p *Pool[T]) Reclaim(before time.Duration) bool {
	p.mu.Lock()
	i, at := p.leastRecent()
	if at >= before || p.surplus() <= 0 {
		p.mu.Unlock()
		return false
	}
	v := p.idle[i]
	p.idle = slices.Delete(p.idle, i, i+1)
	p.leaving++
	p.mu.Unlock()
	p.retire(v)
	return true
}

// retire closes a value that counts as leaving and gives up its place. Only a waiter gets
// another in its stead.
func (p *Pool[T]) retire(v T) {
	p.close(v)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.leaving--
	p.abandon()
	if len(p.waiters) > 0 {
		p.grow()
	}
}

// Payable is how many more values the pool could be asked to owe. busy says that a value
// may come back or be closed soon.
func (p *Pool[T]) Payable() (n int, busy bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	n = p.surplus()
	return n - p.owed, n > 0 || p.total > len(p.idle)
}

// Owe has the pool close the next value that comes back, unless it keeps all that it has.
func (p *Pool[T]) Owe() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.owed++
}

// Forgive lets the pool keep what it owes.
func (p *Pool[T]) Forgive() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.owed = 0
}

// due reports whether a value that comes back must be closed, as the pool owes one, and
// settles that. p.mu is held.
func (p *Pool[T]) due() bool {
	if p.owed == 0 || p.surplus() <= 0 {
		return false
	}
	p.owed--
	return true
}

// Exchange takes a lent value that does not suit the borrower and lends it another: an idle
// value that passes one of the tests, of which earlier ones go first, else a new one. The
// first value is closed only where the pool has no other place for the new one. After an
// error the borrower owns no value.
func (p *Pool[T]) Exchange(ctx context.Context, wait time.Duration, v T, suits ...func(T) bool) (T, error) {
	deadline := time.Now().Add(wait)
	for _, test := range suits {
		if w, ok := p.trade(v, test); ok {
			return w, nil
		}
	}
	if p.another(v) {
		w, err := p.renew(ctx, time.Until(deadline))
		if !errors.Is(err, ErrNoRoom) {
			return w, err
		}
		if v, err = p.Get(ctx, time.Until(deadline)); err != nil {
			return v, err
		}
		for _, test := range suits {
			if test(v) {
				return v, nil
			}
		}
	}
	p.close(v)
	return p.renew(ctx, time.Until(deadline))
}

// trade lends an idle value that passes the test in place of v, unless others wait.
func (p *Pool[T]) trade(v T, test func(T) bool) (w T, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.pressed() {
		return w, false
	}
	for i := len(p.idle) - 1; i >= 0; i-- {
		if w = p.idle[i]; test(w) {
			p.idle[i] = v
			return w, true
		}
	}
	return w, false
}

// pressed reports whether the next value that comes back is claimed: by a waiter, by the
// host, which the pool owes one, or by shutdown. p.mu is held.
func (p *Pool[T]) pressed() bool { return p.closed || p.owed > 0 || len(p.waiters) > 0 }

// another returns a lent value and takes the place of a value that is yet to be made
// instead, if there is such a place.
func (p *Pool[T]) another(v T) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.pressed() || p.total >= p.max {
		return false
	}
	p.total++
	p.idle = append(p.idle, v)
	return true
}

// renew makes the value of a place that is lent. Making it does not end with the context:
// a value that comes too late for this borrower serves another.
func (p *Pool[T]) renew(ctx context.Context, wait time.Duration) (T, error) {
	type result struct {
		v   T
		err error
	}
	made := make(chan result, 1)
	go func() {
		v, err := p.make(p.life)
		if err != nil {
			p.drop()
		}
		made <- result{v, err}
	}()
	timer := time.NewTimer(wait)
	defer timer.Stop()
	var none T
	var err error
	select {
	case r := <-made:
		return r.v, r.err
	case <-ctx.Done():
		err = ctx.Err()
	case <-timer.C:
		err = ErrBusy
	}
	go func() {
		if r := <-made; r.err == nil {
			p.Put(r.v)
		}
	}()
	return none, err
}
