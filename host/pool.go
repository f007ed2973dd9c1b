package host

import (
	"context"
	"errors"
	"sync"
	"time"
)

// errBusy is the error of pool.get when no value came free in time.
var errBusy = errors.New("no free instance in time")

// pool lends at most max values of T, each to one borrower at a time. Whoever
// waits longest is served first. A borrower returns a value with put, or gives
// up its place with drop after it has closed the value itself: only the owner
// of a value ever closes it.
type pool[T any] struct {
	max   int
	make  func(context.Context) (T, error)
	close func(T)

	mu      sync.Mutex
	idle    []T // the last one returned is lent first: its memory is warm
	total   int // idle, lent and in the making
	waiters []chan turn[T]
	closed  bool
	drained chan struct{}
}

// turn is what a waiter receives: a value, or with ok false a place to make
// one.
type turn[T any] struct {
	value T
	ok    bool
}

func newPool[T any](max int, make func(context.Context) (T, error), close func(T)) *pool[T] {
	return &pool[T]{max: max, make: make, close: close, drained: newSignal()}
}

func newSignal() chan struct{} { return make(chan struct{}) }

// get lends a value, waiting at most wait for a free one. Errors: errBusy,
// ErrClosed, the context's, and what make returns.
func (p *pool[T]) get(ctx context.Context, wait time.Duration) (T, error) {
	var none T
	p.mu.Lock()
	switch {
	case p.closed:
		p.mu.Unlock()
		return none, ErrClosed
	case len(p.idle) > 0:
		v := p.idle[len(p.idle)-1]
		p.idle[len(p.idle)-1] = none
		p.idle = p.idle[:len(p.idle)-1]
		p.mu.Unlock()
		return v, nil
	case p.total < p.max:
		p.total++
		p.mu.Unlock()
		return p.produce(ctx)
	}
	ch := make(chan turn[T], 1)
	p.waiters = append(p.waiters, ch)
	p.mu.Unlock()
	return p.await(ctx, ch, wait)
}

// await waits for the turn of ch.
func (p *pool[T]) await(ctx context.Context, ch chan turn[T], wait time.Duration) (T, error) {
	var none T
	timer := time.NewTimer(wait)
	defer timer.Stop()
	var err error
	select {
	case t, open := <-ch:
		return p.take(ctx, t, open)
	case <-ctx.Done():
		err = ctx.Err()
	case <-timer.C:
		err = errBusy
	}
	if p.forget(ch) {
		return none, err
	}
	// The turn came at the same moment: it must not be lost.
	t, open := <-ch
	return p.take(ctx, t, open)
}

func (p *pool[T]) take(ctx context.Context, t turn[T], open bool) (T, error) {
	switch {
	case !open:
		var none T
		return none, ErrClosed
	case t.ok:
		return t.value, nil
	}
	return p.produce(ctx)
}

// produce makes a value in a place that is already counted.
func (p *pool[T]) produce(ctx context.Context) (T, error) {
	v, err := p.make(ctx)
	if err != nil {
		var none T
		p.drop()
		return none, err
	}
	return v, nil
}

// forget removes a waiter and reports whether it was still waiting.
func (p *pool[T]) forget(ch chan turn[T]) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i, w := range p.waiters {
		if w == ch {
			p.waiters = append(p.waiters[:i], p.waiters[i+1:]...)
			return true
		}
	}
	return false
}

// put returns a lent value in working order.
func (p *pool[T]) put(v T) {
	p.mu.Lock()
	switch {
	case len(p.waiters) > 0:
		w := p.shift()
		p.mu.Unlock()
		w <- turn[T]{value: v, ok: true}
		return
	case !p.closed:
		p.idle = append(p.idle, v)
		p.mu.Unlock()
		return
	}
	p.mu.Unlock()
	p.close(v)
	p.drop()
}

// drop gives up the place of a value that its borrower has closed.
func (p *pool[T]) drop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.waiters) > 0 {
		p.shift() <- turn[T]{}
		return
	}
	p.total--
	if p.closed && p.total == 0 {
		close(p.drained)
	}
}

// shift removes the first waiter; its channel has room for one turn.
func (p *pool[T]) shift() chan turn[T] {
	w := p.waiters[0]
	p.waiters = p.waiters[1:]
	return w
}

// counts returns how many values there are and how many of them are idle.
func (p *pool[T]) counts() (total, idle int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.total, len(p.idle)
}

// shutdown turns new borrowers and waiters away, closes what is idle, and waits
// until the lent values are back or ctx ends. It may be called again.
func (p *pool[T]) shutdown(ctx context.Context) error {
	p.mu.Lock()
	if !p.closed {
		p.closed = true
		for _, w := range p.waiters {
			close(w)
		}
		p.waiters = nil
		for range p.idle {
			p.total--
		}
		if p.total == 0 {
			close(p.drained)
		}
	}
	idle := p.idle
	p.idle = nil
	p.mu.Unlock()
	for _, v := range idle {
		p.close(v)
	}
	select {
	case <-p.drained:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
