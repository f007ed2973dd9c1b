package host

import (
	"context"
	"errors"
	"math"
	"time"
)

// What a pool gives back of what it holds, and how a borrower gets another value than the
// one that it was lent.

// surplus is how many values the pool has beyond those that it keeps; what is not made yet
// is nothing that it has. p.mu is held.
func (p *pool[T]) surplus() int {
	if p.closed {
		return 0
	}
	return p.total - p.making - p.leaving - max(1, p.min)
}

// oldest returns when the idle value was used that was not for longest, math.MaxInt64
// where none is idle. surplus is false where the pool keeps all that it has.
func (p *pool[T]) oldest() (at time.Duration, surplus bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.surplus() <= 0 {
		return 0, false
	}
	at = math.MaxInt64
	note := func(v T) { at = min(at, p.stamp(v)) }
	for _, v := range p.idle {
		note(v)
	}
	if !p.pressed.Load() { // as in visit
		p.near.visit(note)
	}
	return at, true
}

// reclaim closes the idle value that was not used for longest, if that was before a time
// and the pool need not keep it. It reports whether it did.
func (p *pool[T]) reclaim(before time.Duration) bool {
	p.mu.Lock()
	v, ok := p.leastRecent(before)
	p.mu.Unlock()
	if ok {
		p.retire(v)
	}
	return ok
}

// retire closes a value that was noted as leaving, and gives up its place.
func (p *pool[T]) retire(v T) {
	p.close(v)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.leaving--
	p.abandon()
	if len(p.waiters) > 0 {
		p.grow()
	}
}

// leastRecent removes a value for reclaim. p.mu is held.
func (p *pool[T]) leastRecent(before time.Duration) (v T, ok bool) {
	if p.surplus() <= 0 {
		return v, false
	}
	at, where := before, -1
	for i, v := range p.idle {
		if t := p.stamp(v); t < at {
			at, where = t, i
		}
	}
	if !p.pressed.Load() {
		older := func(v T) bool { return p.stamp(v) < at }
		for i := range p.near.all {
			if w, found := p.near.all[i].takeIf(older); found {
				if ok { // the one found before was not the oldest
					p.idle = append(p.idle, v)
				}
				v, ok, at = w, true, p.stamp(w)
				p.lent--
			}
		}
	}
	if !ok && where >= 0 {
		v, ok = p.idle[where], true
		p.idle = append(p.idle[:where], p.idle[where+1:]...)
	}
	if ok {
		p.leaving++
	}
	return v, ok
}

// payable is how many values the pool could still be asked to owe. busy says that others
// may come back or be closed soon, as somebody uses one.
func (p *pool[T]) payable() (n int, busy bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	n = p.surplus()
	return n - p.owed, n > 0 || p.total > len(p.idle)+p.near.count()
}

// owe has the next value that comes back closed, unless the pool keeps all that it has.
func (p *pool[T]) owe() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.owed++
	p.press()
}

// forgive keeps what the pool owes.
func (p *pool[T]) forgive() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.owed = 0
	p.press()
}

// due reports whether a value that comes back is to be retired, as the pool owes one, and
// notes it as leaving. p.mu is held.
func (p *pool[T]) due() bool {
	if p.owed == 0 || p.surplus() <= 0 {
		return false
	}
	p.owed--
	p.leaving++
	p.press()
	return true
}

// exchange returns a value for one that was lent and does not suit the borrower: an idle
// one that does, by the first of the tests that any passes, else a new one, in place of
// the one that was lent only where there is no other place. After an error the borrower
// has none.
func (p *pool[T]) exchange(ctx context.Context, wait time.Duration, v T, suits ...func(T) bool) (T, error) {
	deadline := time.Now().Add(wait)
	for _, test := range suits {
		if w, ok := p.trade(v, test); ok {
			return w, nil
		}
	}
	if p.another(v) {
		w, err := p.renew(ctx, time.Until(deadline))
		if !errors.Is(err, errNoRoom) {
			return w, err
		}
		if v, err = p.get(ctx, time.Until(deadline)); err != nil {
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

// trade puts a lent value in the place of an idle one that passes the test.
func (p *pool[T]) trade(v T, test func(T) bool) (w T, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.pressed.Load() { // others wait, and are not passed by
		return w, false
	}
	for i := len(p.idle) - 1; i >= 0; i-- {
		if w = p.idle[i]; test(w) {
			p.idle[i] = v
			return w, true
		}
	}
	for i := range p.near.all {
		if w, ok := p.near.all[i].swapIf(v, test); ok {
			return w, true
		}
	}
	return w, false
}

// another gives a lent value back for the place of one that is yet to be made, if there
// may be one more.
func (p *pool[T]) another(v T) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.pressed.Load() || p.total >= p.max {
		return false
	}
	p.total++
	p.idle = append(p.idle, v)
	return true
}

// renew makes the value of a place that is lent. Making it does not end with the context:
// what comes too late for this borrower serves another.
func (p *pool[T]) renew(ctx context.Context, wait time.Duration) (T, error) {
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
		err = errBusy
	}
	go func() {
		if r := <-made; r.err == nil {
			p.put(r.v)
		}
	}()
	return none, err
}
